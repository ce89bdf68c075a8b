//! Cutting text into words, as the steps of a tokenizer.json's "pre_tokenizer" do it.

use crate::boundary::Outcome;
use crate::matcher::Matcher;
use crate::pattern::read_pattern;
use crate::program::Program;
use tokenizers::tokenizer::pattern::Pattern;
use tokenizers::{Offsets, SplitDelimiterBehavior};

/// The pattern that the step "ByteLevel" uses by itself.
pub const BYTE_LEVEL_PATTERN: &str =
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";

/// A part of a text, as byte offsets, and whether the pattern matched it.
type Part = (Offsets, bool);

/// A compiled pattern that cuts as Python's tokenizers does.
pub struct WordPattern {
    program: Program,
}

/// One step on a text.
enum Cut {
    Pattern {
        pattern: WordPattern,
        behavior: SplitDelimiterBehavior,
        invert: bool,
    },
    /// Numbers as Rust's `char::is_numeric` has them, each apart or all that touch together.
    Digits {
        each: bool,
    },
}

/// Steps, each of which cuts what the one before left.
#[derive(Default)]
pub struct Words {
    cuts: Vec<Cut>,
}

impl WordPattern {
    pub fn new(pattern: &str) -> Outcome<Self> {
        let program = Program::new(&read_pattern(pattern)?).map_err(|mut failure| {
            failure.message = format!("pattern \"{pattern}\": {}", failure.message);
            failure
        })?;
        Ok(WordPattern { program })
    }

    /// The matches and what lies between them, in order; they cover `text`. An empty match cuts,
    /// except where another match ends.
    fn each_part(&self, text: &str, each: &mut dyn FnMut(Part) -> Outcome<()>) -> Outcome<()> {
        let mut matcher = Matcher::new(&self.program, text);
        let (mut done, mut at) = (0, 0);
        let mut last_end = None;
        while at <= text.len() {
            let Some((begin, end)) = matcher.find(at)? else { break };
            if begin == end && last_end == Some(end) {
                at = end + text[end..].chars().next().map_or(1, char::len_utf8);
                continue;
            }
            if done < begin {
                each(((done, begin), false))?;
            }
            each(((begin, end), true))?;
            last_end = Some(end);
            done = end;
            at = end;
        }
        if done < text.len() {
            each(((done, text.len()), false))?;
        }
        Ok(())
    }

    fn parts(&self, text: &str) -> Outcome<Vec<Part>> {
        let mut parts = Vec::new();
        self.each_part(text, &mut |part| {
            parts.push(part);
            Ok(())
        })?;
        Ok(parts)
    }
}

impl Pattern for &WordPattern {
    fn find_matches(&self, inside: &str) -> tokenizers::Result<Vec<Part>> {
        if inside.is_empty() {
            return Ok(vec![((0, 0), false)]);
        }
        self.parts(inside).map_err(|failure| failure.message.into())
    }
}

impl Words {
    pub fn from_patterns<'a>(patterns: impl IntoIterator<Item = &'a str>) -> Outcome<Self> {
        let mut words = Words::default();
        for pattern in patterns {
            words.add_pattern(pattern, SplitDelimiterBehavior::Isolated, false)?;
        }
        Ok(words)
    }

    pub fn add_pattern(
        &mut self,
        pattern: &str,
        behavior: SplitDelimiterBehavior,
        invert: bool,
    ) -> Outcome<()> {
        let pattern = WordPattern::new(pattern)?;
        self.cuts.push(Cut::Pattern { pattern, behavior, invert });
        Ok(())
    }

    pub fn add_digits(&mut self, each: bool) {
        self.cuts.push(Cut::Digits { each });
    }

    /// Calls `each` with every word, in order.
    pub fn cut(&self, text: &str, each: &mut dyn FnMut(&str) -> Outcome<()>) -> Outcome<()> {
        cut(text, &self.cuts, each)
    }
}

impl Cut {
    fn parts(&self, text: &str) -> Outcome<Vec<Part>> {
        match self {
            Cut::Pattern { pattern, behavior, invert } => {
                let mut parts = pattern.parts(text)?;
                if *invert {
                    parts.iter_mut().for_each(|(_, is_match)| *is_match = !*is_match);
                }
                Ok(behave(parts, *behavior))
            }
            Cut::Digits { each } => {
                let behavior = match each {
                    true => SplitDelimiterBehavior::Isolated,
                    false => SplitDelimiterBehavior::Contiguous,
                };
                let digits = |character: char| character.is_numeric();
                let parts = digits.find_matches(text).unwrap_or_default();
                Ok(behave(parts, behavior))
            }
        }
    }
}

/// Joins the parts as `NormalizedString::split` of the library does; those that it removes are
/// gone.
fn behave(mut parts: Vec<Part>, behavior: SplitDelimiterBehavior) -> Vec<Part> {
    let mut joined: Vec<Part> = Vec::with_capacity(parts.len());
    match behavior {
        SplitDelimiterBehavior::Isolated => return parts,
        SplitDelimiterBehavior::Removed => {
            parts.retain(|(_, is_match)| !is_match);
            return parts;
        }
        SplitDelimiterBehavior::Contiguous => {
            let mut previous = false;
            for (offsets, is_match) in parts {
                match joined.last_mut().filter(|_| is_match == previous) {
                    Some(((_, end), _)) => *end = offsets.1,
                    None => joined.push((offsets, is_match)),
                }
                previous = is_match;
            }
        }
        SplitDelimiterBehavior::MergedWithPrevious => {
            let mut previous = false;
            for (offsets, is_match) in parts {
                match joined.last_mut().filter(|_| is_match && !previous) {
                    Some(((_, end), _)) => *end = offsets.1,
                    None => joined.push((offsets, is_match)),
                }
                previous = is_match;
            }
        }
        SplitDelimiterBehavior::MergedWithNext => {
            let mut previous = false;
            for (offsets, is_match) in parts.into_iter().rev() {
                match joined.last_mut().filter(|_| is_match && !previous) {
                    Some(((begin, _), _)) => *begin = offsets.0,
                    None => joined.push((offsets, is_match)),
                }
                previous = is_match;
            }
            joined.reverse();
        }
    }
    joined
}

fn cut(text: &str, cuts: &[Cut], each: &mut dyn FnMut(&str) -> Outcome<()>) -> Outcome<()> {
    if text.is_empty() {
        return Ok(());
    }
    let Some((first, rest)) = cuts.split_first() else { return each(text) };
    if let Cut::Pattern { pattern, behavior: SplitDelimiterBehavior::Isolated, .. } = first {
        return pattern
            .each_part(text, &mut |((begin, end), _)| cut(&text[begin..end], rest, each));
    }
    for ((begin, end), _) in first.parts(text)? {
        cut(&text[begin..end], rest, each)?;
    }
    Ok(())
}

#[cfg(test)]
#[path = "words_test.rs"]
mod tests;
