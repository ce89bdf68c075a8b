//! Cutting text into words for byte-level BPE, in time linear in the text.
//!
//! Published patterns end in `\s+(?!\S)|\s+`: white space leaves its last character to the word
//! that follows. That is the only look-ahead they have, so it is done by hand here; a backtracking
//! engine gives up on a megabyte of spaces.

use crate::boundary::{Failure, Outcome};
use regex::Regex;

const LEAVES_LAST_SPACE: [&str; 2] = [r"|\s+(?!\S)|\s+", r"|\s+(?!\S)"];

enum Cutter {
    Linear { regex: Regex, leaves_last_space: bool, takes_line_ends: bool },
    Backtracking(fancy_regex::Regex),
}

/// Patterns, each of which cuts what the one before left; what lies between matches is a word too.
pub struct Words {
    cutters: Vec<Cutter>,
}

impl Words {
    pub fn new<'a>(patterns: impl IntoIterator<Item = &'a str>) -> Outcome<Self> {
        let cutters = patterns.into_iter().map(Cutter::new).collect::<Outcome<Vec<_>>>()?;
        Ok(Words { cutters })
    }

    /// Calls `each` with every word, in order.
    pub fn cut(&self, text: &str, each: &mut dyn FnMut(&str) -> Outcome<()>) -> Outcome<()> {
        cut(text, &self.cutters, each)
    }
}

impl Cutter {
    fn new(pattern: &str) -> Outcome<Self> {
        let invalid = |error: String| Failure::invalid(format!("pattern \"{pattern}\": {error}"));
        for suffix in LEAVES_LAST_SPACE {
            if let Some(rest) = pattern.strip_suffix(suffix) {
                let plain = format!(r"{rest}|\s+");
                if let Ok(regex) = Regex::new(&plain) {
                    // Then a match of `\s+` holds no line end, as those have an alternative before.
                    let takes_line_ends = rest.ends_with(r"\s*[\r\n]+");
                    return Ok(Cutter::Linear { regex, leaves_last_space: true, takes_line_ends });
                }
            }
        }
        if let Ok(regex) = Regex::new(pattern) {
            return Ok(Cutter::Linear { regex, leaves_last_space: false, takes_line_ends: false });
        }
        fancy_regex::Regex::new(pattern)
            .map(Cutter::Backtracking)
            .map_err(|error| invalid(error.to_string()))
    }

    /// The first match at or after `at`, as byte offsets.
    fn find(&self, text: &str, at: usize) -> Outcome<Option<(usize, usize)>> {
        match self {
            Cutter::Linear { regex, leaves_last_space, takes_line_ends } => {
                let Some(found) = regex.find_at(text, at) else { return Ok(None) };
                let mut end = found.end();
                if *leaves_last_space && end < text.len() {
                    let last = found.as_str().chars().next_back().unwrap_or('x');
                    let is_space = last.is_whitespace()
                        && !(*takes_line_ends && matches!(last, '\r' | '\n'))
                        && found.as_str().chars().all(char::is_whitespace);
                    if is_space && found.len() > last.len_utf8() {
                        end -= last.len_utf8();
                    }
                }
                Ok(Some((found.start(), end)))
            }
            Cutter::Backtracking(regex) => regex
                .find_from_pos(text, at)
                .map(|found| found.map(|found| (found.start(), found.end())))
                .map_err(|error| Failure::invalid(format!("cutting into words: {error}"))),
        }
    }
}

fn cut(text: &str, cutters: &[Cutter], each: &mut dyn FnMut(&str) -> Outcome<()>) -> Outcome<()> {
    let Some((cutter, rest)) = cutters.split_first() else {
        return if text.is_empty() { Ok(()) } else { each(text) };
    };
    let mut done = 0;
    let mut at = 0;
    while at < text.len() {
        let Some((begin, end)) = cutter.find(text, at)? else { break };
        if begin == end {
            // An empty match cuts nothing; look on behind the next character.
            at = end + text[end..].chars().next().map_or(1, char::len_utf8);
            continue;
        }
        cut(&text[done..begin], rest, each)?;
        cut(&text[begin..end], rest, each)?;
        done = end;
        at = end;
    }
    cut(&text[done..], rest, each)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_linear_cut_equals_the_backtracking_one() {
        let patterns = [
            r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
            concat!(
                r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}",
                r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
            ),
        ];
        let sample: Vec<char> = "  \n\t\r\u{a0}\u{3000}aé1½.'s<\u{301}中😀".chars().collect();
        let mut state = 1u64;
        for pattern in patterns {
            let words = Words::new([pattern]).unwrap();
            let regex = fancy_regex::Regex::new(pattern).unwrap();
            for _ in 0..20_000 {
                let mut text = String::new();
                for _ in 0..12 {
                    state =
                        state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                    text.push(sample[(state >> 33) as usize % sample.len()]);
                }
                let slow: Vec<_> = regex
                    .find_iter(&text)
                    .map(|found| found.unwrap().as_str().to_owned())
                    .collect();
                let mut fast = Vec::new();
                let mut each = |word: &str| {
                    fast.push(word.to_owned());
                    Ok(())
                };
                words.cut(&text, &mut each).unwrap();
                assert_eq!(fast, slow, "{text:?}");
            }
        }
    }
}
