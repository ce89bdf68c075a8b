//! Filters that make texts.

use super::attributes::entries_of;
use super::calls::{bind, Bound};
use super::error::{fail, Result};
use super::operators::refuse_undefined;
use super::percent::percent_format;
use super::print::{repr_of, str_of};
use super::run::{CallArguments, Run};
use super::sequences::iterate;
use super::text::*;
use super::text_methods::{made, split_lines, stripped, text_argument};
use super::value::Value;

pub const NAMES: [&str; 24] = [
    "capitalize",
    "center",
    "e",
    "escape",
    "filesizeformat",
    "forceescape",
    "format",
    "indent",
    "lower",
    "pprint",
    "replace",
    "safe",
    "string",
    "striptags",
    "title",
    "trim",
    "truncate",
    "upper",
    "urlencode",
    "urlize",
    "wordcount",
    "wordwrap",
    "xmlattr",
    "tojson",
];

pub fn apply(run: &Run, name: &str, value: &Value, arguments: CallArguments) -> Result<Value> {
    match name {
        "capitalize" | "lower" | "string" | "title" | "upper" | "safe" | "wordcount"
        | "striptags" | "e" | "escape" | "forceescape" => simple(run, name, value, arguments),
        "center" => {
            let bound = bind(name, arguments, &["width"], 0)?;
            let text = str_of(run, value)?;
            let width = int(&bound, 0, 80)?;
            let width = usize::try_from(width.max(0)).unwrap_or(usize::MAX);
            Ok(made(padded(run, text.chars(), width, ' ' as u32, Side::Center)?, &text))
        }
        "format" => formatted(run, value, arguments),
        "indent" => indent(run, value, &bind(name, arguments, &["width", "first", "blank"], 0)?),
        "replace" => {
            let bound = bind(name, arguments, &["old", "new", "count"], 2)?;
            let text = str_of(run, value)?;
            let (old, new) = (str_of(run, bound.must(0))?, str_of(run, bound.must(1))?);
            let count = match bound.get(2) {
                None | Some(Value::None) => -1,
                Some(_) => int(&bound, 2, -1)?,
            };
            let limit = usize::try_from(count).ok();
            let chars = replace(&run.budget, text.chars(), old.chars(), new.chars(), limit)?;
            Ok(Value::Text(Text::new(chars)))
        }
        "trim" => {
            let bound = bind(name, arguments, &["chars"], 0)?;
            let text = str_of(run, value)?;
            run.budget.characters(text.len())?;
            let unwanted = text_argument(&bound, 0, "strip")?;
            Ok(made(stripped(run, text.chars(), "strip", unwanted)?.to_vec(), &text))
        }
        "truncate" => truncate(run, value, arguments),
        "urlencode" => {
            bind(name, arguments, &[], 0)?;
            url_encoded(run, value)
        }
        "filesizeformat" => file_size(value, &bind(name, arguments, &["binary"], 0)?),
        "xmlattr" => xml_attributes(run, value, &bind(name, arguments, &["autospace"], 0)?),
        "pprint" => {
            bind(name, arguments, &[], 0)?;
            let text = repr_of(run, value)?;
            if text.len() > PPRINT_WIDTH || holds_dict(value) {
                return fail!(
                    "pprint is supported for values without a dict, up to {PPRINT_WIDTH} \
                     characters; use tojson"
                );
            }
            Ok(Value::Text(text))
        }
        _ => fail!("the filter '{name}' is not supported"),
    }
}
fn formatted(run: &Run, value: &Value, arguments: CallArguments) -> Result<Value> {
    let text = str_of(run, value)?;
    if !arguments.named.is_empty() && !arguments.positional.is_empty() {
        return fail!("format: positional and keyword arguments cannot be mixed");
    }
    let values = if arguments.named.is_empty() {
        Value::tuple(arguments.positional)?
    } else {
        let named = arguments.named.into_iter().map(|(key, value)| (Value::text(&key), value));
        Value::Dict(std::rc::Rc::new(super::value::Dict::from_pairs(named)?))
    };
    percent_format(run, &text, &values)
}

/// Python's pprint sorts the keys of dicts.
fn holds_dict(value: &Value) -> bool {
    match value {
        Value::Dict(_) => true,
        other => other.items().is_some_and(|items| items.values.iter().any(holds_dict)),
    }
}

/// Beyond this, Python's pprint breaks lines.
const PPRINT_WIDTH: usize = 80;

pub fn int(bound: &Bound, index: usize, default: i128) -> Result<i128> {
    let Some(value) = bound.get(index) else { return Ok(default) };
    refuse_undefined(&[value])?;
    match value.as_int() {
        Some(int) => Ok(int),
        None => fail!("'{}' object cannot be interpreted as an integer", value.type_name()),
    }
}

fn simple(run: &Run, name: &str, value: &Value, arguments: CallArguments) -> Result<Value> {
    bind(name, arguments, &[], 0)?;
    let text = str_of(run, value)?;
    run.budget.characters(text.len().saturating_mul(2))?;
    let chars = text.chars();
    Ok(match name {
        "capitalize" => made(capitalize(chars), &text),
        "lower" => made(lower(chars), &text),
        "upper" => made(upper(chars), &text),
        "title" => made(title(chars), &text),
        "string" => Value::Text(text),
        "safe" => Value::Text(as_markup(text)),
        "wordcount" => Value::Int(word_count(chars) as i128),
        "striptags" => Value::Text(Text::new(without_tags(run, chars)?)),
        "forceescape" => {
            let plain = Text::new(chars.to_vec());
            Value::Text(escaped(run, &plain)?)
        }
        _ => Value::Text(escaped(run, &text)?),
    })
}

fn as_markup(mut text: Text) -> Text {
    text.markup = true;
    text
}

/// `markupsafe.escape`.
pub fn escaped(run: &Run, text: &Text) -> Result<Text> {
    if text.markup {
        return Ok(text.clone());
    }
    run.budget.characters(text.len().saturating_mul(2))?;
    let mut out = Vec::with_capacity(text.len());
    for c in text.chars() {
        let entity = match letter(*c) {
            '&' => "&amp;",
            '<' => "&lt;",
            '>' => "&gt;",
            '\'' => "&#39;",
            '"' => "&#34;",
            _ => {
                out.push(*c);
                continue;
            }
        };
        out.extend(entity.chars().map(|each| with_origin(each, *c)));
    }
    Ok(as_markup(Text::new(out)))
}

/// Words begin after white space, dashes and opening brackets.
fn title(chars: &[Char]) -> Vec<Char> {
    let is_edge = |c: Char| is_space(c) || matches!(letter(c), '-' | '(' | '{' | '[' | '<');
    let mut out = Vec::new();
    for part in chars.chunk_by(|a, b| is_edge(*a) == is_edge(*b)) {
        out.extend(upper(&part[..1]));
        out.extend(lower(&part[1..]));
    }
    out
}

fn word_count(chars: &[Char]) -> usize {
    let is_word = |c: &Char| letter(*c).is_alphanumeric() || letter(*c) == '_';
    chars.chunk_by(|a, b| is_word(a) == is_word(b)).filter(|part| is_word(&part[0])).count()
}

/// Comments and tags go, and white space becomes single spaces.
fn without_tags(run: &Run, chars: &[Char]) -> Result<Vec<Char>> {
    let pattern = |text: &str| text.chars().map(|c| c as u32).collect::<Vec<_>>();
    let (begin, end) = (pattern("<!--"), pattern("-->"));
    let mut rest = chars.to_vec();
    while let Some(at) = find(&run.budget, &rest, &begin, 0)? {
        let Some(close) = find(&run.budget, &rest, &end, at)? else { break };
        run.budget.characters(rest.len())?;
        rest.drain(at..close + end.len());
    }
    while let Some(at) = rest.iter().position(|c| letter(*c) == '<') {
        let Some(close) = rest[at..].iter().position(|c| letter(*c) == '>') else { break };
        run.budget.characters(rest.len())?;
        rest.drain(at..=at + close);
    }
    let words: Vec<&[Char]> =
        rest.split(|c| is_space(*c)).filter(|word| !word.is_empty()).collect();
    Ok(unescape_entities(&words.join(&(' ' as u32))))
}

fn unescape_entities(chars: &[Char]) -> Vec<Char> {
    let entities = [
        ("&amp;", '&'),
        ("&lt;", '<'),
        ("&gt;", '>'),
        ("&#39;", '\''),
        ("&#34;", '"'),
        ("&quot;", '"'),
        ("&nbsp;", '\u{a0}'),
        ("&#x27;", '\''),
        ("&apos;", '\''),
    ];
    let mut out = Vec::new();
    let mut at = 0;
    while at < chars.len() {
        let entity = entities.iter().find(|(name, _)| {
            chars.len() - at >= name.len()
                && name.chars().zip(&chars[at..]).all(|(a, b)| a as u32 == code(*b))
        });
        match entity {
            Some((name, each)) => {
                out.push(with_origin(*each, chars[at]));
                at += name.len();
            }
            None => {
                out.push(chars[at]);
                at += 1;
            }
        }
    }
    out
}

#[derive(Clone, Copy, PartialEq)]
pub enum Side {
    Left,
    Right,
    Center,
}

/// `str.ljust`, `rjust` and `center`.
pub fn padded(run: &Run, text: &[Char], width: usize, fill: Char, side: Side) -> Result<Vec<Char>> {
    let missing = width.saturating_sub(text.len());
    run.budget.characters(missing.saturating_add(text.len()))?;
    let left = match side {
        Side::Left => 0,
        Side::Right => missing,
        Side::Center => missing / 2 + (missing & width & 1),
    };
    let mut out = vec![fill; left];
    out.extend_from_slice(text);
    out.resize(text.len() + missing, fill);
    Ok(out)
}

pub fn count_of(run: &Run, text: &[Char], part: &[Char]) -> Result<usize> {
    if part.is_empty() {
        return Ok(text.len() + 1);
    }
    let mut count = 0;
    let mut at = 0;
    while let Some(place) = find(&run.budget, text, part, at)? {
        count += 1;
        at = place + part.len();
    }
    Ok(count)
}

fn indent(run: &Run, value: &Value, bound: &Bound) -> Result<Value> {
    let Value::Text(source) = value else {
        refuse_undefined(&[value])?;
        return fail!("indent needs a string, not '{}'", value.type_name());
    };
    let indention = match bound.get(0) {
        Some(Value::Text(text)) => text.chars().to_vec(),
        _ => {
            let width = usize::try_from(int(bound, 0, 4)?.max(0)).unwrap_or(usize::MAX);
            run.budget.characters(width)?;
            vec![' ' as u32; width]
        }
    };
    let newline = '\n' as u32;
    let mut whole = source.chars().to_vec();
    whole.push(newline);
    let mut out: Vec<Char> = Vec::new();
    if bound.is_true(1) {
        out.extend_from_slice(&indention);
    }
    for (index, line) in split_lines(&whole, false).iter().enumerate() {
        run.budget.characters(indention.len() + line.len() + 1)?;
        if index > 0 {
            out.push(newline);
            if bound.is_true(2) || !line.is_empty() {
                out.extend_from_slice(&indention);
            }
        }
        out.extend_from_slice(line);
    }
    Ok(made(out, source))
}

fn truncate(run: &Run, value: &Value, arguments: CallArguments) -> Result<Value> {
    let bound = bind("truncate", arguments, &["length", "killwords", "end", "leeway"], 0)?;
    let end = match bound.get(2) {
        None => Text::plain("..."),
        Some(Value::Text(end)) => end.clone(),
        Some(other) => return fail!("truncate: end is a '{}'", other.type_name()),
    };
    let leeway = match bound.get(3) {
        None | Some(Value::None) => 5,
        Some(_) => int(&bound, 3, 5)?,
    };
    let length = int(&bound, 0, 255)?;
    if length < end.len() as i128 || leeway < 0 {
        return fail!("truncate: expected length >= {}, got {length}", end.len());
    }
    if super::sequences::length(run, value)? as i128 <= length.saturating_add(leeway) {
        return Ok(value.clone());
    }
    let Value::Text(text) = value else {
        return fail!("truncate of a '{}'", value.type_name());
    };
    run.budget.characters(text.len())?;
    let mut kept = &text.chars()[..length as usize - end.len()];
    if !bound.is_true(1) {
        kept = match kept.iter().rposition(|c| letter(*c) == ' ') {
            Some(at) => &kept[..at],
            None => kept,
        };
    }
    Ok(made([kept, end.chars()].concat(), text))
}

fn quoted_url(run: &Run, value: &Value, for_query: bool) -> Result<Vec<Char>> {
    let text = str_of(run, value)?;
    run.budget.characters(text.len().saturating_mul(4))?;
    let mut out = Vec::new();
    for c in text.chars() {
        let each = letter(*c);
        if each.is_ascii_alphanumeric()
            || matches!(each, '_' | '.' | '-' | '~')
            || (each == '/' && !for_query)
        {
            out.push(*c);
        } else if each == ' ' && for_query {
            out.push(with_origin('+', *c));
        } else {
            for byte in each.encode_utf8(&mut [0; 4]).bytes() {
                out.extend(format!("%{byte:02X}").chars().map(|d| with_origin(d, *c)));
            }
        }
    }
    Ok(out)
}

fn url_encoded(run: &Run, value: &Value) -> Result<Value> {
    if matches!(value, Value::Text(_)) || !super::sequences::is_iterable(value) {
        return Ok(Value::Text(Text::new(quoted_url(run, value, false)?)));
    }
    let pairs = match value {
        Value::Dict(dict) => dict.pairs()?,
        other => iterate(run, other)?,
    };
    let mut out: Vec<Char> = Vec::new();
    for (index, pair) in pairs.iter().enumerate() {
        let pair = iterate(run, pair)?;
        let [key, value] = &pair[..] else { return fail!("urlencode needs pairs") };
        if index > 0 {
            out.push('&' as u32);
        }
        out.extend(quoted_url(run, key, true)?);
        out.push('=' as u32);
        out.extend(quoted_url(run, value, true)?);
    }
    Ok(Value::Text(Text::new(out)))
}

fn file_size(value: &Value, bound: &Bound) -> Result<Value> {
    let bytes = match value {
        Value::Text(text) => match text.to_plain().trim().parse::<f64>() {
            Ok(bytes) => bytes,
            Err(_) => return fail!("could not convert string to float"),
        },
        other => match other.as_float() {
            Some(bytes) => bytes,
            None => return fail!("filesizeformat of a '{}'", other.type_name()),
        },
    };
    let is_binary = bound.is_true(0);
    let base: f64 = if is_binary { 1024.0 } else { 1000.0 };
    if bytes == 1.0 {
        return Ok(Value::text("1 Byte"));
    }
    if bytes < base {
        return Ok(Value::text(&format!("{} Bytes", bytes as i64)));
    }
    let mut unit = base;
    let mut prefix = 'k';
    for (index, each) in "kMGTPEZY".chars().enumerate() {
        unit = base.powi(index as i32 + 2);
        prefix = if is_binary && each == 'k' { 'K' } else { each };
        if bytes < unit {
            break;
        }
    }
    let suffix = if is_binary { "iB" } else { "B" };
    Ok(Value::text(&format!("{:.1} {prefix}{suffix}", base * bytes / unit)))
}

fn xml_attributes(run: &Run, value: &Value, bound: &Bound) -> Result<Value> {
    let mut parts: Vec<Vec<Char>> = Vec::new();
    for (key, value) in entries_of(value, "xmlattr")?.entries() {
        if matches!(value, Value::None | Value::Undefined(_)) {
            continue;
        }
        let Value::Text(key) = key else { return fail!("xmlattr: a key is not a string") };
        let is_wrong = |c: &Char| {
            let each = letter(*c);
            each.is_ascii_whitespace() || matches!(each, '\u{b}' | '/' | '>' | '=')
        };
        if key.chars().iter().any(is_wrong) {
            return fail!("Invalid character in attribute name: '{}'", key.to_plain());
        }
        let mut part = escaped(run, key)?.chars().to_vec();
        part.extend("=\"".chars().map(|c| c as u32));
        part.extend_from_slice(escaped(run, &str_of(run, value)?)?.chars());
        part.push('"' as u32);
        parts.push(part);
    }
    let mut out = parts.join(&(' ' as u32));
    if !out.is_empty() && bound.get(0).is_none_or(Value::is_true) {
        out.insert(0, ' ' as u32);
    }
    Ok(Value::Text(Text::new(out)))
}
