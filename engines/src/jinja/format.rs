//! `str.format`, `str.format_map` and the forms of numbers.

use super::attributes::{get_attribute, get_item};
use super::error::{fail, Result};
use super::operators::refuse_undefined;
use super::print::{float as float_repr, repr_of, str_of};
use super::run::{CallArguments, Run};
use super::text::*;
use super::text_filters::{padded, Side};
use super::value::{Dict, Value};
use std::rc::Rc;

/// A text, the specifications of its fields, and the fields within these.
const DEPTH_MAX: usize = 3;

struct Fields<'r> {
    run: &'r Run<'r>,
    positional: Vec<Value>,
    named: Rc<Dict>,
    /// The number of the next `{}`; `None` once a field has named its own.
    automatic: Option<usize>,
    manual: bool,
}

pub fn format(run: &Run, text: &Text, name: &str, arguments: CallArguments) -> Result<Value> {
    let CallArguments { mut positional, named } = arguments;
    let named = if name == "format_map" {
        match (positional.len(), positional.pop(), named.is_empty()) {
            (1, Some(Value::Dict(dict)), true) => dict,
            _ => return fail!("format_map() takes exactly one mapping"),
        }
    } else {
        let named = named.into_iter().map(|(key, value)| (Value::text(&key), value));
        Rc::new(Dict::from_pairs(named)?)
    };
    let mut fields = Fields { run, positional, named, automatic: Some(0), manual: false };
    let chars = fields.expand(text.chars(), DEPTH_MAX)?;
    Ok(super::text_methods::made(chars, text))
}

impl Fields<'_> {
    fn expand(&mut self, chars: &[Char], depth: usize) -> Result<Vec<Char>> {
        if depth == 0 {
            return fail!("Max string recursion exceeded");
        }
        self.run.budget.characters(chars.len())?;
        let mut out = Vec::new();
        let mut at = 0;
        while at < chars.len() {
            let next = chars.get(at + 1).map(|c| letter(*c));
            match (letter(chars[at]), next) {
                ('{', Some('{')) | ('}', Some('}')) => {
                    out.push(chars[at]);
                    at += 2;
                }
                ('{', _) => {
                    let end = field_end(chars, at + 1)?;
                    out.extend(self.field(&chars[at + 1..end], depth)?);
                    at = end + 1;
                }
                ('}', _) => return fail!("Single '}}' encountered in format string"),
                _ => {
                    out.push(chars[at]);
                    at += 1;
                }
            }
        }
        Ok(out)
    }

    fn field(&mut self, inside: &[Char], depth: usize) -> Result<Vec<Char>> {
        let mut bracket = false;
        let name_end = inside.iter().position(|c| {
            match letter(*c) {
                '[' => bracket = true,
                ']' => bracket = false,
                ':' | '!' => return !bracket,
                _ => {}
            }
            false
        });
        let name_end = name_end.unwrap_or(inside.len());
        let mut value = self.value_of(&plain_text(&inside[..name_end]))?;
        let mut rest = &inside[name_end..];
        if rest.first().is_some_and(|c| letter(*c) == '!') {
            let conversion = rest.get(1).map(|c| letter(*c));
            match conversion {
                Some('r') => value = Value::Text(repr_of(self.run, &value)?),
                Some('s') => value = Value::Text(str_of(self.run, &value)?),
                Some(other) => return fail!("the conversion '!{other}' is not supported"),
                None => return fail!("unmatched '{{' in format spec"),
            }
            rest = &rest[2..];
            if rest.first().is_some_and(|c| letter(*c) != ':') {
                return fail!("expected ':' after conversion specifier");
            }
        }
        let spec = self.expand(rest.get(1..).unwrap_or_default(), depth - 1)?;
        format_value(self.run, &value, &spec)
    }

    fn value_of(&mut self, name: &str) -> Result<Value> {
        let end = name.find(['.', '[']).unwrap_or(name.len());
        let (first, mut rest) = name.split_at(end);
        let mut value = self.first_value(first)?;
        while !rest.is_empty() {
            if let Some(after) = rest.strip_prefix('.') {
                let end = after.find(['.', '[']).unwrap_or(after.len());
                if end == 0 {
                    return fail!("Empty attribute in format string");
                }
                value = get_attribute(self.run, &value, &after[..end])?;
                rest = &after[end..];
            } else {
                let Some(end) = rest.find(']').filter(|end| *end > 1) else {
                    return fail!("Empty attribute in format string");
                };
                let index = &rest[1..end];
                let index = match index.parse::<u32>() {
                    Ok(index) => Value::Int(i128::from(index)),
                    Err(_) => Value::text(index),
                };
                value = get_item(self.run, &value, &index)?;
                rest = &rest[end + 1..];
                if !rest.is_empty() && !rest.starts_with(['.', '[']) {
                    return fail!("Only '.' or '[' may follow ']' in format field specifier");
                }
            }
        }
        Ok(value)
    }

    fn first_value(&mut self, first: &str) -> Result<Value> {
        let index = if first.is_empty() {
            let Some(index) = self.automatic.filter(|_| !self.manual) else {
                return fail!(
                    "cannot switch from manual field specification to automatic field numbering"
                );
            };
            self.automatic = Some(index + 1);
            index
        } else if let Some(index) =
            first.parse().ok().filter(|_| first.bytes().all(|b| b.is_ascii_digit()))
        {
            if self.automatic != Some(0) {
                return fail!(
                    "cannot switch from automatic field numbering to manual field specification"
                );
            }
            self.manual = true;
            index
        } else {
            return match self.named.get_name(first) {
                Some(value) => Ok(value.clone()),
                None => fail!("format: no value named '{first}'"),
            };
        };
        match self.positional.get(index) {
            Some(value) => Ok(value.clone()),
            None => fail!("Replacement index {index} out of range for positional args tuple"),
        }
    }
}

fn field_end(chars: &[Char], begin: usize) -> Result<usize> {
    let mut depth = 1;
    for (at, c) in chars.iter().enumerate().skip(begin) {
        match letter(*c) {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Ok(at);
        }
    }
    fail!("expected '}}' before end of string")
}

pub fn decimal_value(character: char) -> Option<u32> {
    character.to_digit(10)
}

/// Python's format specification: `[[fill]align][sign][#][0][width][grouping][.precision][type]`.
#[derive(Default)]
struct Spec {
    fill: Option<Char>,
    align: Option<char>,
    sign: Option<char>,
    alternate: bool,
    zero: bool,
    width: usize,
    grouping: Option<char>,
    precision: Option<usize>,
    kind: Option<char>,
}

fn parse_spec(spec: &[Char]) -> Result<Spec> {
    let mut made = Spec::default();
    let is_align = |c: &Char| matches!(letter(*c), '<' | '>' | '=' | '^');
    let mut at = 0;
    if spec.get(1).is_some_and(is_align) {
        made.fill = Some(spec[0]);
        made.align = Some(letter(spec[1]));
        at = 2;
    } else if spec.first().is_some_and(is_align) {
        made.align = Some(letter(spec[0]));
        at = 1;
    }
    let peek = |at: usize| spec.get(at).map(|c| letter(*c));
    if let Some(sign @ ('+' | '-' | ' ')) = peek(at) {
        made.sign = Some(sign);
        at += 1;
    }
    if peek(at) == Some('#') {
        made.alternate = true;
        at += 1;
    }
    if peek(at) == Some('0') {
        made.zero = true;
        at += 1;
    }
    let number = |at: &mut usize| -> Result<Option<usize>> {
        let mut value: Option<usize> = None;
        while let Some(digit) = peek(*at).and_then(|c| c.to_digit(10)) {
            let next = value.unwrap_or(0) * 10 + digit as usize;
            if next > 1 << 31 {
                return fail!("Too many decimal digits in format string");
            }
            value = Some(next);
            *at += 1;
        }
        Ok(value)
    };
    made.width = number(&mut at)?.unwrap_or(0);
    if let Some(grouping @ (',' | '_')) = peek(at) {
        made.grouping = Some(grouping);
        at += 1;
    }
    if peek(at) == Some('.') {
        at += 1;
        made.precision = number(&mut at)?;
        if made.precision.is_none() {
            return fail!("Format specifier missing precision");
        }
    }
    made.kind = peek(at);
    if spec.len() > at + usize::from(made.kind.is_some()) {
        return fail!("Invalid format specifier '{}'", plain_text(spec));
    }
    Ok(made)
}

fn format_value(run: &Run, value: &Value, spec: &[Char]) -> Result<Vec<Char>> {
    if spec.is_empty() {
        return Ok(str_of(run, value)?.chars().to_vec());
    }
    let parsed = parse_spec(spec)?;
    run.budget.characters(parsed.width.max(parsed.precision.unwrap_or(0)))?;
    match value {
        Value::Text(text) => format_text(run, text, &parsed),
        Value::Undefined(_) => {
            refuse_undefined(&[value])?;
            Ok(Vec::new())
        }
        // `True` is formatted as text if nothing asks for a number.
        Value::Bool(_) if parsed.kind.is_none() => {
            format_number(run, &value.clone(), &Spec { kind: Some('d'), ..parsed })
        }
        _ if value.is_number() => format_number(run, value, &parsed),
        other => fail!("unsupported format string passed to {}.__format__", other.type_name()),
    }
}

fn format_text(run: &Run, text: &Text, spec: &Spec) -> Result<Vec<Char>> {
    if !matches!(spec.kind, None | Some('s')) || spec.grouping.is_some() {
        return fail!("Unknown format code for object of type 'str'");
    }
    if spec.sign.is_some() || spec.alternate || spec.align == Some('=') {
        return fail!("a sign, '#' or '=' is not allowed in the format of a string");
    }
    let end = spec.precision.unwrap_or(text.len()).min(text.len());
    let fill = spec.fill.unwrap_or(if spec.zero { '0' as u32 } else { ' ' as u32 });
    let side = match spec.align {
        Some('>') => Side::Right,
        Some('^') => return centered(run, &text.chars()[..end], spec.width, fill),
        _ => Side::Left,
    };
    padded(run, &text.chars()[..end], spec.width, fill, side)
}

/// `^` puts the odd space on the right, which `str.center` does not always do.
fn centered(run: &Run, text: &[Char], width: usize, fill: Char) -> Result<Vec<Char>> {
    let missing = width.saturating_sub(text.len());
    let left = padded(run, text, text.len() + missing / 2, fill, Side::Right)?;
    padded(run, &left, width, fill, Side::Left)
}

fn format_number(run: &Run, value: &Value, spec: &Spec) -> Result<Vec<Char>> {
    let (is_negative, prefix, digits) = match (value.as_int(), spec.kind) {
        (Some(int), None | Some('d' | 'n' | 'b' | 'o' | 'x' | 'X')) => {
            if spec.precision.is_some() {
                return fail!("Precision not allowed in integer format specifier");
            }
            let size = int.unsigned_abs();
            let (prefix, digits) = match spec.kind {
                Some('b') => ("0b", format!("{size:b}")),
                Some('o') => ("0o", format!("{size:o}")),
                Some('x') => ("0x", format!("{size:x}")),
                Some('X') => ("0X", format!("{size:X}")),
                _ => ("", size.to_string()),
            };
            (int < 0, if spec.alternate { prefix } else { "" }, digits)
        }
        (Some(int), Some('c')) => match char::from_u32(u32::try_from(int).unwrap_or(u32::MAX)) {
            Some(each) => (false, "", each.to_string()),
            None => return fail!("%c arg not in range(0x110000)"),
        },
        _ => {
            let float = value.as_float().unwrap_or(0.0);
            let negative = float.is_sign_negative() && !float.is_nan();
            (negative, "", float_digits(run, float.abs(), spec)?)
        }
    };
    let sign = match (is_negative, spec.sign) {
        (true, _) => "-",
        (false, Some('+')) => "+",
        (false, Some(' ')) => " ",
        _ => "",
    };
    let head = format!("{sign}{prefix}");
    let align = spec.align.unwrap_or(if spec.zero { '=' } else { '>' });
    let fill = spec.fill.unwrap_or(if spec.zero { '0' as u32 } else { ' ' as u32 });
    let zero_width = if align == '=' && code(fill) == '0' as u32 {
        spec.width.saturating_sub(head.len())
    } else {
        0
    };
    let digits = grouped(run, &digits, spec, zero_width)?;
    let plain = |text: &str| text.chars().map(|c| c as u32).collect::<Vec<Char>>();
    let body = plain(&digits);
    if align == '=' {
        let rest = padded(run, &body, spec.width.saturating_sub(head.len()), fill, Side::Right)?;
        return Ok([plain(&head), rest].concat());
    }
    let whole = [plain(&head), body].concat();
    match align {
        '<' => padded(run, &whole, spec.width, fill, Side::Left),
        '^' => centered(run, &whole, spec.width, fill),
        _ => padded(run, &whole, spec.width, fill, Side::Right),
    }
}

fn float_digits(run: &Run, size: f64, spec: &Spec) -> Result<String> {
    let upper = spec.kind.is_some_and(|kind| kind.is_ascii_uppercase());
    let precision = spec.precision.unwrap_or(6);
    let text = match spec.kind.map(|kind| kind.to_ascii_lowercase()) {
        _ if !size.is_finite() => if size.is_nan() { "nan" } else { "inf" }.to_owned(),
        Some('e') => exponent_form(run, size, precision)?,
        Some('f') => fixed_form(run, size, precision)?,
        Some('%') => fixed_form(run, size * 100.0, precision)? + "%",
        Some('g' | 'n') => general_form(run, size, precision, spec.alternate)?,
        None => match spec.precision {
            None => float_repr(size),
            Some(precision) => {
                let text = general_form(run, size, precision, false)?;
                // Like `g`, but with a digit after the point and an earlier exponent.
                if text.contains(['.', 'e', 'n', 'i']) {
                    text
                } else if text.len() >= precision.max(1) {
                    short_exponent(run, size, precision)?
                } else {
                    text + ".0"
                }
            }
        },
        Some(other) => return fail!("Unknown format code '{other}' for object of type 'float'"),
    };
    Ok(if upper { text.to_ascii_uppercase() } else { text })
}

fn short_exponent(run: &Run, size: f64, precision: usize) -> Result<String> {
    let text = exponent_form(run, size, precision.saturating_sub(1))?;
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "+00"));
    let mantissa = if mantissa.contains('.') {
        mantissa.trim_end_matches('0').trim_end_matches('.')
    } else {
        mantissa
    };
    Ok(format!("{mantissa}e{exponent}"))
}

/// Separators between the digits before the point, and zeros up to `zero_width`.
fn grouped(run: &Run, digits: &str, spec: &Spec, zero_width: usize) -> Result<String> {
    let Some(separator) = spec.grouping else { return Ok(digits.to_owned()) };
    let size = match spec.kind {
        Some('b' | 'o' | 'x' | 'X') if separator == '_' => 4,
        Some('b' | 'o' | 'x' | 'X') => return fail!("Cannot specify ',' with this format"),
        _ => 3,
    };
    let is_digit = |c: char| c.is_ascii_alphanumeric() && c != 'e';
    let end = digits.find(|c| !is_digit(c)).unwrap_or(digits.len());
    let (whole, rest) = digits.split_at(end);
    run.budget.characters(whole.len() + zero_width)?;
    let mut whole: Vec<char> = whole.chars().rev().collect();
    let length = |count: usize| count + count.saturating_sub(1) / size + rest.len();
    while length(whole.len()) < zero_width {
        whole.push('0');
    }
    let mut out = Vec::new();
    for (index, digit) in whole.iter().enumerate() {
        if index > 0 && index % size == 0 {
            out.push(separator);
        }
        out.push(*digit);
    }
    Ok(out.iter().rev().collect::<String>() + rest)
}

/// `%.{precision}f` of a number that is not negative.
pub fn fixed_form(run: &Run, size: f64, precision: usize) -> Result<String> {
    run.budget.characters(precision)?;
    let exact = precision.min(PRECISION_EXACT);
    run.budget.steps(exact as u64)?; // Digits of a small number take long.
    let text = format!("{size:.exact$}");
    Ok(text + &"0".repeat(precision - exact))
}
/// No double has more digits after the point.
const PRECISION_EXACT: usize = 1100;

pub fn exponent_form(run: &Run, size: f64, precision: usize) -> Result<String> {
    run.budget.characters(precision)?;
    let exact = precision.min(PRECISION_EXACT);
    run.budget.steps(exact as u64)?; // Digits of a small number take long.
    let text = format!("{size:.exact$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, digits) = match exponent.strip_prefix('-') {
        Some(digits) => ('-', digits),
        None => ('+', exponent),
    };
    let zeros = "0".repeat(precision - exact);
    Ok(format!("{mantissa}{zeros}e{sign}{digits:0>2}"))
}

pub fn general_form(run: &Run, size: f64, precision: usize, alternate: bool) -> Result<String> {
    let precision = precision.max(1);
    let scientific = exponent_form(run, size, precision - 1)?;
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "+00"));
    let value: i64 = exponent.parse().unwrap_or(0);
    let trimmed = |text: &str| {
        if alternate || !text.contains('.') {
            return text.to_owned();
        }
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    if value < -4 || value >= precision as i64 {
        return Ok(format!("{}e{exponent}", trimmed(mantissa)));
    }
    let digits = (precision as i64 - 1 - value).max(0) as usize;
    Ok(trimmed(&fixed_form(run, size, digits)?))
}
