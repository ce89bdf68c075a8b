//! `format % values`.

use super::error::{fail, Result};
use super::format::{exponent_form, fixed_form, general_form};
use super::operators::refuse_undefined;
use super::print::{quoted_name, repr_of, str_of};
use super::run::Run;
use super::text::*;
use super::text_filters::escaped;
use super::value::Value;

#[derive(Default)]
struct Flags {
    left: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    zero: bool,
}

impl Flags {
    fn sign(&self, is_negative: bool) -> String {
        match (is_negative, self.plus, self.space) {
            (true, ..) => "-",
            (_, true, _) => "+",
            (_, _, true) => " ",
            _ => "",
        }
        .to_owned()
    }

    /// The flags from `at` on, which goes to the first character that is none.
    fn read(chars: &[Char], at: &mut usize) -> Flags {
        let mut flags = Flags::default();
        loop {
            match chars.get(*at).map(|c| letter(*c)) {
                Some('-') => flags.left = true,
                Some('+') => flags.plus = true,
                Some(' ') => flags.space = true,
                Some('#') => flags.alternate = true,
                Some('0') => flags.zero = true,
                _ => return flags,
            }
            *at += 1;
        }
    }
}

/// The source of the values: one after the other, or by name.
struct Values<'v> {
    run: &'v Run<'v>,
    all: &'v Value,
    next: usize,
    by_name: bool,
}

impl Values<'_> {
    fn next(&mut self) -> Result<Value> {
        let at = self.next;
        self.next += 1;
        let value = match self.all {
            Value::Tuple(items) | Value::Group(items) => items.values.get(at).cloned(),
            single => (at == 0).then(|| single.clone()),
        };
        match value {
            Some(value) => Ok(value),
            None => fail!("not enough arguments for format string"),
        }
    }

    fn named(&mut self, name: &[Char]) -> Result<Value> {
        self.by_name = true;
        let Value::Dict(dict) = self.all else { return fail!("format requires a mapping") };
        self.run.budget.look(name.len())?;
        match dict.get(&Value::Text(Text::new(name.to_vec())))? {
            Some(value) => Ok(value.clone()),
            None => fail!("format: no value named {}", quoted_name(&Text::new(name.to_vec()))),
        }
    }

    /// Python refuses values that are left over, unless they are a mapping, a list or the like.
    fn check_all_used(&self) -> Result<()> {
        let left = match self.all {
            Value::Tuple(items) | Value::Group(items) => self.next < items.values.len(),
            Value::Dict(_) | Value::List(_) | Value::Range(_) | Value::Undefined(_) => false,
            _ => self.next == 0,
        };
        if left && !self.by_name {
            return fail!("not all arguments converted during string formatting");
        }
        Ok(())
    }
}

pub fn percent_format(run: &Run, format: &Text, all: &Value) -> Result<Value> {
    let chars = format.chars();
    let mut values = Values { run, all, next: 0, by_name: false };
    let mut out: Vec<Char> = Vec::new();
    let mut at = 0;
    run.budget.characters(chars.len())?;
    while at < chars.len() {
        if letter(chars[at]) != '%' {
            out.push(chars[at]);
            at += 1;
            continue;
        }
        at += 1;
        at = one_field(run, chars, at, &mut values, &mut out, format.markup)?;
    }
    values.check_all_used()?;
    let mut made = Text::new(out);
    made.markup = format.markup;
    Ok(Value::Text(made))
}

fn one_field(
    run: &Run,
    chars: &[Char],
    mut at: usize,
    values: &mut Values,
    out: &mut Vec<Char>,
    markup: bool,
) -> Result<usize> {
    let peek = |at: usize| chars.get(at).map(|c| letter(*c));
    let mut name = None;
    if peek(at) == Some('(') {
        let begin = at + 1;
        let mut depth = 1;
        at = begin;
        while depth > 0 {
            match peek(at) {
                Some('(') => depth += 1,
                Some(')') => depth -= 1,
                Some(_) => {}
                None => return fail!("incomplete format key"),
            }
            at += 1;
        }
        name = Some(&chars[begin..at - 1]);
    }
    let mut flags = Flags::read(chars, &mut at);
    let width = count(chars, &mut at, values)?;
    if width.is_some_and(|width| width < 0) {
        flags.left = true;
    }
    let mut precision = None;
    if peek(at) == Some('.') {
        at += 1;
        precision = Some(count(chars, &mut at, values)?.unwrap_or(0).max(0) as usize);
    }
    while matches!(peek(at), Some('h' | 'l' | 'L')) {
        at += 1;
    }
    let Some(kind) = peek(at) else { return fail!("incomplete format") };
    at += 1;
    if kind == '%' {
        out.push('%' as u32);
        return Ok(at);
    }
    let value = match name {
        Some(name) => values.named(name)?,
        None => values.next()?,
    };
    let width = width.unwrap_or(0).unsigned_abs() as usize;
    run.budget.characters(width.max(precision.unwrap_or(0)))?;
    let (sign, body) = converted(run, kind, &value, &flags, precision, markup)?;
    put_padded(run, sign, &body, width, &flags, "sra c".contains(kind), out)?;
    Ok(at)
}

/// A width or a precision: digits, or `*` for the next value.
fn count(chars: &[Char], at: &mut usize, values: &mut Values) -> Result<Option<i64>> {
    if chars.get(*at).is_some_and(|c| letter(*c) == '*') {
        *at += 1;
        return match values.next()?.as_int().map(i64::try_from) {
            Some(Ok(count)) if count.abs() < COUNT_MAX => Ok(Some(count)),
            _ => fail!("format: * wants an int below {COUNT_MAX}"),
        };
    }
    let mut count: Option<i64> = None;
    while let Some(digit) = chars.get(*at).and_then(|c| letter(*c).to_digit(10)) {
        let next = count.unwrap_or(0) * 10 + i64::from(digit);
        if next >= COUNT_MAX {
            return fail!("format: a width or precision of {COUNT_MAX} or more");
        }
        count = Some(next);
        *at += 1;
    }
    Ok(count)
}
const COUNT_MAX: i64 = 1 << 31;

fn plain(text: &str) -> Vec<Char> {
    text.chars().map(|c| c as u32).collect()
}

/// A value's sign or prefix, and its text.
fn converted(
    run: &Run,
    kind: char,
    value: &Value,
    flags: &Flags,
    precision: Option<usize>,
    markup: bool,
) -> Result<(String, Vec<Char>)> {
    let cut = |text: Text| {
        let end = precision.unwrap_or(text.len()).min(text.len());
        text.chars()[..end].to_vec()
    };
    match kind {
        's' if markup => Ok((String::new(), cut(escaped(run, &str_of(run, value)?)?))),
        's' => Ok((String::new(), cut(str_of(run, value)?))),
        'r' => Ok((String::new(), cut(repr_of(run, value)?))),
        'a' => Ok((String::new(), cut(ascii(&repr_of(run, value)?)))),
        'c' => match value {
            Value::Text(text) if text.len() == 1 => Ok((String::new(), text.chars().to_vec())),
            other => {
                match other.as_int().and_then(|int| char::from_u32(u32::try_from(int).ok()?)) {
                    Some(each) => Ok((String::new(), vec![each as u32])),
                    None => fail!("%c requires int or char"),
                }
            }
        },
        'd' | 'i' | 'u' | 'x' | 'X' | 'o' => int_text(run, kind, value, flags, precision),
        'e' | 'E' | 'f' | 'F' | 'g' | 'G' => float_text(run, kind, value, flags, precision),
        other => fail!("unsupported format character '{other}'"),
    }
}

fn int_text(
    run: &Run,
    kind: char,
    value: &Value,
    flags: &Flags,
    precision: Option<usize>,
) -> Result<(String, Vec<Char>)> {
    let int = int_of(kind, value)?;
    let size = int.unsigned_abs();
    let (prefix, digits) = match kind {
        'x' => ("0x", format!("{size:x}")),
        'X' => ("0X", format!("{size:X}")),
        'o' => ("0o", format!("{size:o}")),
        _ => ("", size.to_string()),
    };
    let missing = precision.unwrap_or(0).saturating_sub(digits.len());
    run.budget.characters(missing)?;
    let prefix = if flags.alternate { prefix } else { "" };
    let digits = "0".repeat(missing) + &digits;
    Ok((flags.sign(int < 0) + prefix, plain(&digits)))
}

fn float_text(
    run: &Run,
    kind: char,
    value: &Value,
    flags: &Flags,
    precision: Option<usize>,
) -> Result<(String, Vec<Char>)> {
    refuse_undefined(&[value])?;
    let Some(float) = value.as_float() else {
        return fail!("must be real number, not {}", value.type_name());
    };
    let digits = precision.unwrap_or(6);
    let size = float.abs();
    let text = match kind.to_ascii_lowercase() {
        _ if !float.is_finite() => if float.is_nan() { "nan" } else { "inf" }.to_owned(),
        'e' => exponent_form(run, size, digits)?,
        'f' => fixed_form(run, size, digits)?,
        _ => general_form(run, size, digits, flags.alternate)?,
    };
    let upper = kind.is_ascii_uppercase();
    let text = if upper { text.to_ascii_uppercase() } else { text };
    Ok((flags.sign(float.is_sign_negative() && !float.is_nan()), plain(&text)))
}

fn int_of(kind: char, value: &Value) -> Result<i128> {
    refuse_undefined(&[value])?;
    match (value.as_int(), value) {
        (Some(int), _) => Ok(int),
        (None, Value::Float(float)) if "diu".contains(kind) && float.abs() < 1e38 => {
            Ok(*float as i128)
        }
        _ => fail!("%{kind} format: a real number is required, not {}", value.type_name()),
    }
}

fn ascii(text: &Text) -> Text {
    let mut out = Vec::new();
    for c in text.chars() {
        let escape = match code(*c) {
            0..=0x7f => {
                out.push(*c);
                continue;
            }
            value @ 0x80..=0xff => format!("\\x{value:02x}"),
            value @ 0x100..=0xffff => format!("\\u{value:04x}"),
            value => format!("\\U{value:08x}"),
        };
        out.extend(escape.chars().map(|each| with_origin(each, *c)));
    }
    Text::new(out)
}

fn put_padded(
    run: &Run,
    sign: String,
    body: &[Char],
    width: usize,
    flags: &Flags,
    is_text: bool,
    out: &mut Vec<Char>,
) -> Result<()> {
    run.budget.characters(body.len() + width)?;
    let missing = width.saturating_sub(sign.chars().count() + body.len());
    let sign = plain(&sign);
    if flags.left {
        out.extend(sign);
        out.extend_from_slice(body);
        out.resize(out.len() + missing, ' ' as u32);
    } else if flags.zero && !is_text {
        out.extend(sign);
        out.resize(out.len() + missing, '0' as u32);
        out.extend_from_slice(body);
    } else {
        out.resize(out.len() + missing, ' ' as u32);
        out.extend(sign);
        out.extend_from_slice(body);
    }
    Ok(())
}
