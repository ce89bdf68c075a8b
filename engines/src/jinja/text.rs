//! Python's `str`, with the origin of every character.
//!
//! A character is its code point and a bit that says whether it came with the request. Slicing,
//! joining, replacing and formatting copy characters, so the bit follows each of them through any
//! template. Comparisons and searches ignore it.

use super::budget::Budget;
use super::error::Result;
use std::sync::Arc;

/// A code point, with `FROM_REQUEST` set if the character came with the request.
pub type Char = u32;
pub const FROM_REQUEST: Char = 1 << 31;

pub fn code(character: Char) -> u32 {
    character & !FROM_REQUEST
}
pub fn letter(character: Char) -> char {
    char::from_u32(code(character)).unwrap_or('\u{fffd}')
}
/// `to` with the origin of `from`.
pub fn with_origin(to: char, from: Char) -> Char {
    to as u32 | (from & FROM_REQUEST)
}

#[derive(Clone)]
pub struct Text {
    chars: Arc<[Char]>,
    /// HTML that is safe already (`escape`, `safe`).
    pub markup: bool,
}

impl Text {
    pub fn new(chars: Vec<Char>) -> Self {
        Text { chars: chars.into(), markup: false }
    }
    pub fn plain(text: &str) -> Self {
        Text { chars: text.chars().map(|c| c as u32).collect(), markup: false }
    }
    pub fn from_request(text: &str) -> Self {
        Text { chars: text.chars().map(|c| c as u32 | FROM_REQUEST).collect(), markup: false }
    }
    pub fn chars(&self) -> &[Char] {
        &self.chars
    }
    pub fn len(&self) -> usize {
        self.chars.len()
    }
    pub fn is_empty(&self) -> bool {
        self.chars.is_empty()
    }
    pub fn to_plain(&self) -> String {
        plain_text(&self.chars)
    }
    pub fn is(&self, text: &str) -> bool {
        let mut rest = text.chars();
        self.chars.iter().all(|c| rest.next().is_some_and(|other| other as u32 == code(*c)))
            && rest.next().is_none()
    }
    pub fn same(&self, other: &Text) -> bool {
        same(&self.chars, &other.chars)
    }
}

pub fn plain_text(chars: &[Char]) -> String {
    chars.iter().map(|c| letter(*c)).collect()
}

pub fn same(left: &[Char], right: &[Char]) -> bool {
    left.len() == right.len() && left.iter().zip(right).all(|(a, b)| code(*a) == code(*b))
}

pub fn starts_with(text: &[Char], prefix: &[Char]) -> bool {
    text.len() >= prefix.len() && same(&text[..prefix.len()], prefix)
}
pub fn ends_with(text: &[Char], suffix: &[Char]) -> bool {
    text.len() >= suffix.len() && same(&text[text.len() - suffix.len()..], suffix)
}

/// The first place of `needle` at or after `from`.
pub fn find(budget: &Budget, text: &[Char], needle: &[Char], from: usize) -> Result<Option<usize>> {
    if needle.is_empty() {
        return Ok((from <= text.len()).then_some(from));
    }
    let first = code(needle[0]);
    let mut at = from;
    let mut compared = 0;
    let mut found = None;
    while at + needle.len() <= text.len() {
        compared += 1;
        if code(text[at]) == first {
            let equal =
                text[at..].iter().zip(needle).take_while(|(a, b)| code(**a) == code(**b)).count();
            compared += equal;
            if equal == needle.len() {
                found = Some(at);
                break;
            }
        }
        at += 1;
        if compared > 1 << 16 {
            budget.look(compared)?;
            compared = 0;
        }
    }
    budget.look(compared)?;
    Ok(found)
}

/// The last place of `needle`.
pub fn rfind(budget: &Budget, text: &[Char], needle: &[Char]) -> Result<Option<usize>> {
    let Some(last) = text.len().checked_sub(needle.len()) else { return Ok(None) };
    budget.look(text.len())?;
    let mut compared = 0;
    for at in (0..=last).rev() {
        let equal =
            text[at..].iter().zip(needle).take_while(|(a, b)| code(**a) == code(**b)).count();
        if equal == needle.len() {
            return Ok(Some(at));
        }
        compared += equal;
        if compared > 1 << 16 {
            budget.look(compared)?;
            compared = 0;
        }
    }
    Ok(None)
}

/// Whether `str.isspace` and `\s` of Python's `re` count it as white space.
pub fn is_space(character: Char) -> bool {
    let value = code(character);
    letter(character).is_whitespace() || (0x1c..=0x1f).contains(&value)
}

pub fn trim_start(text: &[Char], unwanted: impl Fn(Char) -> bool) -> &[Char] {
    let begin = text.iter().position(|c| !unwanted(*c)).unwrap_or(text.len());
    &text[begin..]
}
pub fn trim_end(text: &[Char], unwanted: impl Fn(Char) -> bool) -> &[Char] {
    let end = text.iter().rposition(|c| !unwanted(*c)).map_or(0, |last| last + 1);
    &text[..end]
}

/// Replaces up to `limit` places from the left; an empty `old` stands before every character.
pub fn replace(
    budget: &Budget,
    text: &[Char],
    old: &[Char],
    new: &[Char],
    limit: Option<usize>,
) -> Result<Vec<Char>> {
    let limit = limit.unwrap_or(usize::MAX);
    let mut out = Vec::new();
    let mut at = 0;
    let mut count = 0;
    while count < limit {
        let Some(place) = find(budget, text, old, at)? else { break };
        budget.characters(place - at + new.len() + 1)?;
        out.extend_from_slice(&text[at..place]);
        out.extend_from_slice(new);
        count += 1;
        at = place + old.len();
        if old.is_empty() {
            if at == text.len() {
                return Ok(out);
            }
            out.push(text[at]);
            at += 1;
        }
    }
    budget.characters(text.len() - at.min(text.len()))?;
    out.extend_from_slice(&text[at.min(text.len())..]);
    Ok(out)
}

pub fn upper(text: &[Char]) -> Vec<Char> {
    text.iter().flat_map(|c| letter(*c).to_uppercase().map(|up| with_origin(up, *c))).collect()
}

pub fn lower(text: &[Char]) -> Vec<Char> {
    let mut out = Vec::with_capacity(text.len());
    for (at, c) in text.iter().enumerate() {
        if letter(*c) == 'Σ' {
            out.push(with_origin(if ends_word(text, at) { 'ς' } else { 'σ' }, *c));
        } else {
            out.extend(letter(*c).to_lowercase().map(|low| with_origin(low, *c)));
        }
    }
    out
}

/// A capital sigma is final after a letter and before none.
fn ends_word(text: &[Char], at: usize) -> bool {
    let is_letter = |c: &Char| letter(*c).is_lowercase() || letter(*c).is_uppercase();
    at > 0 && is_letter(&text[at - 1]) && !text.get(at + 1).is_some_and(is_letter)
}

/// One character as the first of a word.
pub fn title_case(character: Char) -> Vec<Char> {
    let digraph = match code(character) {
        0x1c4..=0x1c6 => Some('\u{1c5}'),
        0x1c7..=0x1c9 => Some('\u{1c8}'),
        0x1ca..=0x1cc => Some('\u{1cb}'),
        0x1f1..=0x1f3 => Some('\u{1f2}'),
        _ => None,
    };
    if let Some(digraph) = digraph {
        return vec![with_origin(digraph, character)];
    }
    let mut parts = letter(character).to_uppercase();
    let first = parts.next().unwrap_or(letter(character));
    let mut out = vec![with_origin(first, character)];
    let goes_on = first.is_uppercase();
    for part in parts {
        let lower = part.to_lowercase().next().unwrap_or(part);
        out.push(with_origin(if goes_on { lower } else { part }, character));
    }
    out
}

pub fn capitalize(text: &[Char]) -> Vec<Char> {
    let Some((first, rest)) = text.split_first() else { return Vec::new() };
    let mut out = title_case(*first);
    out.extend(lower(rest));
    out
}

pub fn is_cased(character: Char) -> bool {
    letter(character).is_lowercase() || letter(character).is_uppercase()
}

/// Whether `repr` shows it as it is.
pub fn is_printable(character: Char) -> bool {
    // Rust's own rule, which is Python's; the "a" keeps it from escaping combining marks.
    let shown: String = ['a', letter(character)].iter().collect();
    matches!(letter(character), '\'' | '"' | '\\')
        || !shown.escape_debug().nth(1).is_some_and(|c| c == '\\')
}
