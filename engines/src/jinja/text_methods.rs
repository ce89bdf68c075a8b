//! Methods of `str`.

use super::calls::{bind, Bound};
use super::error::{fail, Result};
use super::format;
use super::operators::refuse_undefined;
use super::run::{CallArguments, Run};
use super::sequences::iterate;
use super::text::*;
use super::text_filters::{count_of, padded, Side};
use super::value::Value;

pub fn call(run: &Run, text: &Text, name: &str, arguments: CallArguments) -> Result<Value> {
    match name {
        "format" | "format_map" => format::format(run, text, name, arguments),
        "split" | "rsplit" | "splitlines" | "partition" | "rpartition" => {
            split_method(run, text, name, arguments)
        }
        "strip" | "lstrip" | "rstrip" | "removeprefix" | "removesuffix" | "replace" | "join" => {
            edit_method(run, text, name, arguments)
        }
        "center" | "ljust" | "rjust" | "zfill" | "expandtabs" => {
            pad_method(run, text, name, arguments)
        }
        "find" | "rfind" | "index" | "rindex" | "count" | "startswith" | "endswith" => {
            search_method(run, text, name, arguments)
        }
        _ => simple_method(run, text, name, arguments),
    }
}

pub fn made(chars: Vec<Char>, like: &Text) -> Value {
    let mut text = Text::new(chars);
    text.markup = like.markup;
    Value::Text(text)
}

fn simple_method(run: &Run, text: &Text, name: &str, arguments: CallArguments) -> Result<Value> {
    bind(name, arguments, &[], 0)?;
    run.budget.characters(text.len().saturating_mul(2))?;
    let chars = text.chars();
    let all = |test: fn(char) -> bool| {
        Value::Bool(!chars.is_empty() && chars.iter().all(|c| test(letter(*c))))
    };
    let cased = |wanted: fn(char) -> bool, other: fn(char) -> bool| {
        let has = chars.iter().any(|c| wanted(letter(*c)));
        Value::Bool(has && !chars.iter().any(|c| other(letter(*c)) || is_title_letter(*c)))
    };
    Ok(match name {
        "upper" => made(upper(chars), text),
        "lower" => made(lower(chars), text),
        "casefold" => made(casefold(chars), text),
        "capitalize" => made(capitalize(chars), text),
        "title" => made(title(chars), text),
        "swapcase" => made(swapcase(chars), text),
        "isalnum" => all(char::is_alphanumeric),
        "isalpha" => all(|c| c.is_alphabetic() && !c.is_numeric()),
        "isascii" => Value::Bool(chars.iter().all(|c| letter(*c).is_ascii())),
        "isdecimal" => all(is_decimal),
        "isdigit" => all(is_digit),
        "isnumeric" => all(char::is_numeric),
        "isspace" => all(|c| is_space(c as u32)),
        "isprintable" => Value::Bool(chars.iter().all(|c| is_printable(*c))),
        "isidentifier" => Value::Bool(is_identifier(chars)),
        "islower" => cased(char::is_lowercase, char::is_uppercase),
        "isupper" => cased(char::is_uppercase, char::is_lowercase),
        "istitle" => Value::Bool(is_title(chars)),
        _ => return fail!("the method str.{name} is not supported"),
    })
}

fn is_identifier(chars: &[Char]) -> bool {
    let starts = |c: &Char| letter(*c) == '_' || letter(*c).is_alphabetic();
    // Combining marks are what Rust's own escapes know of those that may follow.
    let is_mark =
        |c: &Char| is_printable(*c) && code(*c) > 0x7f && letter(*c).escape_debug().len() > 1;
    let goes_on = |c: &Char| starts(c) || letter(*c).is_alphanumeric() || is_mark(c);
    chars.first().is_some_and(starts) && chars.iter().all(goes_on)
}

fn is_title_letter(character: Char) -> bool {
    matches!(code(character), 0x1c5 | 0x1c8 | 0x1cb | 0x1f2)
}

fn is_decimal(character: char) -> bool {
    // Decimal digits are the numerals that count from zero in tens. Each block begins at its zero,
    // which `to_digit` knows for ASCII and the table for the common scripts.
    character.is_ascii_digit()
        || [
            0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66,
            0xe50, 0xed0, 0xf20, 0x1040, 0x17e0, 0x1810, 0xff10,
        ]
        .iter()
        .any(|zero| (*zero..zero + 10).contains(&(character as u32)))
}

fn is_digit(character: char) -> bool {
    is_decimal(character)
        || matches!(
            character as u32,
            0xb2 | 0xb3 | 0xb9 | 0x2070 | 0x2074..=0x2079 | 0x2080..=0x2089 | 0x2460..=0x2468
        )
}

fn casefold(chars: &[Char]) -> Vec<Char> {
    let mut out = Vec::new();
    for c in chars {
        match letter(*c) {
            'ı' => out.push(*c),
            'ẞ' => out.extend([with_origin('s', *c); 2]),
            each => {
                let folded = each.to_uppercase().flat_map(char::to_lowercase);
                out.extend(folded.map(|low| with_origin(low, *c)));
            }
        }
    }
    out
}

fn swapcase(chars: &[Char]) -> Vec<Char> {
    let low = lower(chars);
    let mut out = Vec::new();
    for (at, c) in chars.iter().enumerate() {
        if letter(*c).is_uppercase() {
            if low.len() == chars.len() {
                out.push(low[at])
            } else {
                out.extend(lower(&[*c]))
            }
        } else {
            out.extend(upper(&[*c]));
        }
    }
    out
}

/// Every letter after one that is none begins a word.
fn title(chars: &[Char]) -> Vec<Char> {
    let low = lower(chars);
    let same_length = low.len() == chars.len();
    let mut out = Vec::new();
    let mut within = false;
    for (at, c) in chars.iter().enumerate() {
        if within {
            if same_length {
                out.push(low[at])
            } else {
                out.extend(lower(&[*c]))
            }
        } else {
            out.extend(title_case(*c));
        }
        within = is_cased(*c);
    }
    out
}

fn is_title(chars: &[Char]) -> bool {
    let mut within = false;
    let mut any = false;
    for c in chars {
        let each = letter(*c);
        if each.is_uppercase() || is_title_letter(*c) {
            if within {
                return false;
            }
            any = true;
        } else if each.is_lowercase() && !within {
            return false;
        }
        within = is_cased(*c) || is_title_letter(*c);
    }
    any
}

pub fn text_argument<'b>(bound: &'b Bound, index: usize, name: &str) -> Result<Option<&'b Text>> {
    match bound.get(index) {
        None | Some(Value::None) => Ok(None),
        Some(Value::Text(text)) => Ok(Some(text)),
        Some(other) => fail!("{name}: expected str instance, '{}' found", other.type_name()),
    }
}

fn must_text<'b>(bound: &'b Bound, index: usize, name: &str) -> Result<&'b Text> {
    match bound.must(index) {
        Value::Text(text) => Ok(text),
        other => fail!("{name}() argument must be str, not {}", other.type_name()),
    }
}

fn int_argument(bound: &Bound, index: usize, default: i128) -> Result<i128> {
    match bound.get(index) {
        None => Ok(default),
        Some(value) => match value.as_int() {
            Some(int) => Ok(int),
            None => {
                refuse_undefined(&[value])?;
                fail!("'{}' object cannot be interpreted as an integer", value.type_name())
            }
        },
    }
}

fn edit_method(run: &Run, text: &Text, name: &str, arguments: CallArguments) -> Result<Value> {
    let chars = text.chars();
    match name {
        "join" => {
            let bound = bind(name, arguments, &[""], 1)?;
            let mut out = Vec::new();
            for (index, item) in iterate(run, bound.must(0))?.iter().enumerate() {
                let Value::Text(item) = item else {
                    let kind = item.type_name();
                    return fail!("sequence item {index}: expected str instance, {kind} found");
                };
                run.budget.characters(text.len() + item.len())?;
                if index > 0 {
                    out.extend_from_slice(chars);
                }
                out.extend_from_slice(item.chars());
            }
            Ok(made(out, text))
        }
        "replace" => {
            let bound = bind(name, arguments, &["", "", ""], 2)?;
            let count = int_argument(&bound, 2, -1)?;
            let (old, new) = (must_text(&bound, 0, name)?, must_text(&bound, 1, name)?);
            let limit = usize::try_from(count).ok();
            Ok(made(replace(&run.budget, chars, old.chars(), new.chars(), limit)?, text))
        }
        "removeprefix" | "removesuffix" => {
            let bound = bind(name, arguments, &[""], 1)?;
            let part = must_text(&bound, 0, name)?.chars();
            run.budget.characters(chars.len())?;
            let rest = match name {
                "removeprefix" if starts_with(chars, part) => &chars[part.len()..],
                "removesuffix" if ends_with(chars, part) => &chars[..chars.len() - part.len()],
                _ => chars,
            };
            Ok(made(rest.to_vec(), text))
        }
        _ => {
            let bound = bind(name, arguments, &[""], 0)?;
            let unwanted = text_argument(&bound, 0, name)?;
            run.budget.characters(chars.len())?;
            Ok(made(stripped(run, chars, name, unwanted)?.to_vec(), text))
        }
    }
}

pub fn stripped<'t>(
    run: &Run,
    chars: &'t [Char],
    name: &str,
    unwanted: Option<&Text>,
) -> Result<&'t [Char]> {
    let set: Option<std::collections::HashSet<u32>> =
        unwanted.map(|set| set.chars().iter().map(|c| code(*c)).collect());
    run.budget.steps(unwanted.map_or(0, Text::len) as u64)?;
    let goes = |c: Char| match &set {
        Some(set) => set.contains(&code(c)),
        None => is_space(c),
    };
    let chars = if name == "rstrip" { chars } else { trim_start(chars, goes) };
    Ok(if name == "lstrip" { chars } else { trim_end(chars, goes) })
}

fn pad_method(run: &Run, text: &Text, name: &str, arguments: CallArguments) -> Result<Value> {
    if name == "expandtabs" {
        let bound = bind(name, arguments, &["tabsize"], 0)?;
        let size = int_argument(&bound, 0, 8)?.max(0);
        return expand_tabs(run, text, usize::try_from(size).unwrap_or(usize::MAX));
    }
    let names: &[&str] = if name == "zfill" { &[""] } else { &["", ""] };
    let bound = bind(name, arguments, names, 1)?;
    let width = int_argument(&bound, 0, 0)?;
    let fill = match bound.get(1) {
        None => ' ' as u32,
        Some(Value::Text(fill)) if fill.len() == 1 => fill.chars()[0],
        Some(_) => return fail!("The fill character must be exactly one character long"),
    };
    let width = usize::try_from(width.max(0)).unwrap_or(usize::MAX);
    let chars = text.chars();
    Ok(match name {
        "ljust" => made(padded(run, chars, width, fill, Side::Left)?, text),
        "rjust" => made(padded(run, chars, width, fill, Side::Right)?, text),
        "center" => made(padded(run, chars, width, fill, Side::Center)?, text),
        _ => {
            let is_signed = chars.first().is_some_and(|c| matches!(letter(*c), '+' | '-'));
            let (sign, digits) = chars.split_at(usize::from(is_signed));
            let width = width.saturating_sub(sign.len());
            let filled = padded(run, digits, width, '0' as u32, Side::Right)?;
            made([sign, &filled].concat(), text)
        }
    })
}

fn expand_tabs(run: &Run, text: &Text, size: usize) -> Result<Value> {
    let mut out = Vec::new();
    let mut column = 0;
    for c in text.chars() {
        if letter(*c) == '\t' {
            let count = if size == 0 { 0 } else { size - column % size };
            run.budget.characters(count)?;
            out.resize(out.len() + count, with_origin(' ', *c));
            column += count;
        } else {
            run.budget.characters(1)?;
            out.push(*c);
            column = if matches!(letter(*c), '\n' | '\r') { 0 } else { column + 1 };
        }
    }
    Ok(made(out, text))
}

/// The part of `text` between two optional indices, and where it begins.
fn window<'t>(
    text: &'t [Char],
    bound: &Bound,
    first: usize,
) -> Result<Option<(usize, &'t [Char])>> {
    let length = text.len() as i128;
    let place = |index: usize, default: i128| -> Result<i128> {
        let at = match bound.get(index) {
            None | Some(Value::None) => default,
            Some(value) => match value.as_int() {
                Some(at) => at,
                None => return fail!("slice indices must be integers or None"),
            },
        };
        Ok(if at < 0 { at.saturating_add(length).max(0) } else { at })
    };
    let (begin, end) = (place(first, 0)?, place(first + 1, length)?.min(length));
    if begin > end {
        return Ok(None);
    }
    Ok(Some((begin as usize, &text[begin as usize..end as usize])))
}

fn search_method(run: &Run, text: &Text, name: &str, arguments: CallArguments) -> Result<Value> {
    let bound = bind(name, arguments, &["", "", ""], 1)?;
    let within = window(text.chars(), &bound, 1)?;
    if let "startswith" | "endswith" = name {
        let parts = match bound.must(0) {
            Value::Tuple(items) | Value::Group(items) => items.values.clone(),
            other => vec![other.clone()],
        };
        for part in &parts {
            let Value::Text(part) = part else {
                let kind = part.type_name();
                return fail!("{name} first arg must be str or a tuple of str, not {kind}");
            };
            run.budget.look(part.len())?;
            let test = if name == "startswith" { starts_with } else { ends_with };
            if within.is_some_and(|(_, window)| test(window, part.chars())) {
                return Ok(Value::Bool(true));
            }
        }
        return Ok(Value::Bool(false));
    }
    let part = must_text(&bound, 0, name)?.chars();
    let Some((begin, window)) = within else {
        return match name {
            "count" => Ok(Value::Int(0)),
            "find" | "rfind" => Ok(Value::Int(-1)),
            _ => fail!("substring not found"),
        };
    };
    if name == "count" {
        return Ok(Value::Int(count_of(run, window, part)? as i128));
    }
    let found = match name {
        "find" | "index" => find(&run.budget, window, part, 0)?,
        _ => rfind(&run.budget, window, part)?,
    };
    match found {
        Some(at) => Ok(Value::Int((begin + at) as i128)),
        None if name.ends_with("index") => fail!("substring not found"),
        None => Ok(Value::Int(-1)),
    }
}

fn split_method(run: &Run, text: &Text, name: &str, arguments: CallArguments) -> Result<Value> {
    let chars = text.chars();
    run.budget.characters(chars.len())?;
    match name {
        "splitlines" => {
            let bound = bind(name, arguments, &["keepends"], 0)?;
            texts(run, split_lines(chars, bound.is_true(0)), text)
        }
        "partition" | "rpartition" => {
            let bound = bind(name, arguments, &[""], 1)?;
            let part = must_text(&bound, 0, name)?.chars();
            if part.is_empty() {
                return fail!("empty separator");
            }
            let from_right = name == "rpartition";
            let found = if from_right {
                rfind(&run.budget, chars, part)?
            } else {
                find(&run.budget, chars, part, 0)?
            };
            let parts: [&[Char]; 3] = match found {
                Some(at) => [&chars[..at], part, &chars[at + part.len()..]],
                None if from_right => [&[], &[], chars],
                None => [chars, &[], &[]],
            };
            Value::tuple(parts.iter().map(|part| made(part.to_vec(), text)).collect())
        }
        _ => {
            let bound = bind(name, arguments, &["sep", "maxsplit"], 0)?;
            let limit = usize::try_from(int_argument(&bound, 1, -1)?).unwrap_or(usize::MAX);
            let from_right = name == "rsplit";
            let parts = match text_argument(&bound, 0, "split")? {
                Some(part) if part.is_empty() => return fail!("empty separator"),
                Some(part) if from_right => split_right(run, chars, part.chars(), limit)?,
                Some(part) => split_left(run, chars, part.chars(), limit)?,
                None if from_right => words_right(chars, limit),
                None => words_left(chars, limit),
            };
            texts(run, parts, text)
        }
    }
}

fn texts(run: &Run, parts: Vec<&[Char]>, like: &Text) -> Result<Value> {
    run.budget.items(parts.len().saturating_mul(2))?;
    Value::list(parts.into_iter().map(|part| made(part.to_vec(), like)).collect())
}

fn split_left<'t>(
    run: &Run,
    text: &'t [Char],
    part: &[Char],
    limit: usize,
) -> Result<Vec<&'t [Char]>> {
    let mut parts = Vec::new();
    let mut at = 0;
    while parts.len() < limit {
        let Some(place) = find(&run.budget, text, part, at)? else { break };
        parts.push(&text[at..place]);
        at = place + part.len();
    }
    parts.push(&text[at..]);
    Ok(parts)
}

fn split_right<'t>(
    run: &Run,
    text: &'t [Char],
    part: &[Char],
    limit: usize,
) -> Result<Vec<&'t [Char]>> {
    let mut parts = Vec::new();
    let mut rest = text;
    while parts.len() < limit {
        // From the end, so that each search stops at the place it finds.
        let mut at = rest.len().checked_sub(part.len());
        while let Some(place) = at.filter(|place| !starts_with(&rest[*place..], part)) {
            run.budget.look(part.len().min(CHARACTERS_COMPARED))?;
            at = place.checked_sub(1);
        }
        let Some(place) = at else { break };
        parts.push(&rest[place + part.len()..]);
        rest = &rest[..place];
    }
    parts.push(rest);
    parts.reverse();
    Ok(parts)
}
/// The most that one failed comparison of `split_right` is charged.
const CHARACTERS_COMPARED: usize = 1 << 10;

fn words_left(text: &[Char], limit: usize) -> Vec<&[Char]> {
    let mut parts = Vec::new();
    let mut rest = trim_start(text, is_space);
    while !rest.is_empty() && parts.len() < limit {
        let end = rest.iter().position(|c| is_space(*c)).unwrap_or(rest.len());
        parts.push(&rest[..end]);
        rest = trim_start(&rest[end..], is_space);
    }
    if !rest.is_empty() {
        parts.push(rest);
    }
    parts
}

fn words_right(text: &[Char], limit: usize) -> Vec<&[Char]> {
    let mut parts = Vec::new();
    let mut rest = trim_end(text, is_space);
    while !rest.is_empty() && parts.len() < limit {
        let begin = rest.iter().rposition(|c| is_space(*c)).map_or(0, |at| at + 1);
        parts.push(&rest[begin..]);
        rest = trim_end(&rest[..begin], is_space);
    }
    if !rest.is_empty() {
        parts.push(rest);
    }
    parts.reverse();
    parts
}

/// Lines by every line end that Python knows.
pub fn split_lines(text: &[Char], keep_ends: bool) -> Vec<&[Char]> {
    let ends = |c: &Char| matches!(code(*c), 0x0a..=0x0d | 0x1c..=0x1e | 0x85 | 0x2028 | 0x2029);
    let mut lines = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let Some(end) = text[at..].iter().position(ends).map(|end| at + end) else {
            lines.push(&text[at..]);
            break;
        };
        let pair = code(text[end]) == 0x0d && text.get(end + 1).is_some_and(|c| code(*c) == 0x0a);
        let next = end + 1 + usize::from(pair);
        lines.push(&text[at..if keep_ends { next } else { end }]);
        at = next;
    }
    lines
}
