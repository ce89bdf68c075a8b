//! Filters that make numbers.

use super::calls::bind;
use super::error::{fail, Result};
use super::filters::number_of;
use super::operators::refuse_undefined;
use super::run::{CallArguments, Run};
use super::text_filters::int;
use super::value::Value;

pub fn apply(run: &Run, name: &str, value: &Value, arguments: CallArguments) -> Result<Value> {
    match name {
        "abs" => {
            bind(name, arguments, &[], 0)?;
            match (value.as_int(), value) {
                (Some(int), _) => Ok(Value::Int(int.saturating_abs())),
                (None, Value::Float(float)) => Ok(Value::Float(float.abs())),
                _ => {
                    refuse_undefined(&[value])?;
                    fail!("bad operand type for abs(): '{}'", value.type_name())
                }
            }
        }
        "float" => {
            let bound = bind(name, arguments, &["default"], 0)?;
            refuse_undefined(&[value])?;
            let parsed = match value {
                Value::Text(text) => parse_float(&text.to_plain()),
                other => other.as_float(),
            };
            Ok(parsed.map(Value::Float).or(bound.get(0).cloned()).unwrap_or(Value::Float(0.0)))
        }
        "int" => {
            let bound = bind(name, arguments, &["default", "base"], 0)?;
            refuse_undefined(&[value])?;
            let base = int(&bound, 1, 10)?;
            let default = || bound.get(0).cloned().unwrap_or(Value::Int(0));
            run.budget.look(if let Value::Text(text) = value { text.len() } else { 0 })?;
            let whole = |float: f64| -> Result<Value> {
                if float.is_infinite() {
                    return fail!("cannot convert float infinity to integer");
                }
                if float.abs() >= 1e38 {
                    return fail!("an integer larger than 127 bits");
                }
                Ok(if float.is_nan() { default() } else { Value::Int(float as i128) })
            };
            match value {
                Value::Text(text) => {
                    let text = text.to_plain();
                    if let Some(parsed) = parse_int(&text, base)? {
                        return Ok(Value::Int(parsed));
                    }
                    match parse_float(&text) {
                        Some(float) if float.is_finite() => whole(float),
                        _ => Ok(default()),
                    }
                }
                Value::Float(float) => whole(*float),
                other => Ok(other.as_int().map_or_else(default, Value::Int)),
            }
        }
        _ => round(value, arguments),
    }
}

/// Digits with single underscores between them.
fn without_underscores(digits: &str) -> Option<String> {
    let is_wrong = digits.starts_with('_') || digits.ends_with('_') || digits.contains("__");
    (!is_wrong && !digits.is_empty()).then(|| digits.replace('_', ""))
}

/// Python's `int(text, base)`; `None` if it raises.
pub fn parse_int(text: &str, base: i128) -> Result<Option<i128>> {
    let text = text.trim_matches(|c: char| super::text::is_space(c as u32));
    let (minus, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let lower = digits.to_ascii_lowercase();
    let mut radix = base;
    let mut digits = lower.as_str();
    for (prefix, each) in [("0x", 16), ("0o", 8), ("0b", 2)] {
        if let Some(rest) = lower.strip_prefix(prefix).filter(|_| base == each || base == 0) {
            radix = each;
            digits = rest.strip_prefix('_').unwrap_or(rest);
        }
    }
    if radix == 0 {
        if digits.len() > 1
            && digits.starts_with('0')
            && digits.bytes().any(|b| b != b'0' && b != b'_')
        {
            return Ok(None);
        }
        radix = 10;
    }
    if !(2..=36).contains(&radix) {
        return Ok(None);
    }
    let Some(digits) = without_underscores(digits) else { return Ok(None) };
    let converted: Option<String> = digits
        .chars()
        .map(|c| {
            super::format::decimal_value(c).map_or(Some(c), |digit| char::from_digit(digit, 10))
        })
        .collect();
    let digits = converted.unwrap_or(digits);
    if !digits.chars().all(|c| c.is_digit(radix as u32)) {
        return Ok(None);
    }
    match i128::from_str_radix(&digits, radix as u32) {
        Ok(value) => Ok(Some(if minus { -value } else { value })),
        Err(_) => fail!("an integer larger than 127 bits"),
    }
}

/// Python's `float(text)`; `None` if it raises.
pub fn parse_float(text: &str) -> Option<f64> {
    let text = text.trim_matches(|c: char| super::text::is_space(c as u32));
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text).to_ascii_lowercase();
    if matches!(unsigned.as_str(), "inf" | "infinity" | "nan") {
        return text.parse().ok();
    }
    let is_plain = unsigned
        .bytes()
        .all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'+' | b'-' | b'_'));
    let bytes = unsigned.as_bytes();
    let between_digits = |at: usize| {
        at > 0
            && bytes[at - 1].is_ascii_digit()
            && bytes.get(at + 1).is_some_and(u8::is_ascii_digit)
    };
    let underscores_fit = (0..bytes.len()).all(|at| bytes[at] != b'_' || between_digits(at));
    (is_plain && underscores_fit).then(|| text.replace('_', "").parse().ok()).flatten()
}

fn round(value: &Value, arguments: CallArguments) -> Result<Value> {
    let bound = bind("round", arguments, &["precision", "method"], 0)?;
    let method = match bound.get(1) {
        None => "common".to_owned(),
        Some(Value::Text(method)) => method.to_plain(),
        Some(_) => return fail!("method must be common, ceil or floor"),
    };
    if !matches!(method.as_str(), "common" | "ceil" | "floor") {
        return fail!("method must be common, ceil or floor");
    }
    refuse_undefined(&[value])?;
    let precision = int(&bound, 0, 0)?;
    if method != "common" {
        let scale = 10f64.powi(i32::try_from(precision.clamp(-400, 400)).unwrap_or(0));
        let scaled = number_of(value)? * scale;
        if !scaled.is_finite() {
            return fail!("cannot convert float infinity or NaN to integer");
        }
        let whole = if method == "ceil" { scaled.ceil() } else { scaled.floor() };
        // A whole number has no negative zero.
        return Ok(Value::Float((whole + 0.0) / scale));
    }
    match (value.as_int(), value) {
        (Some(int), _) if precision >= 0 => Ok(Value::Int(int)),
        (Some(int), _) => Ok(Value::Int(round_int(int, precision))),
        (None, Value::Float(float)) => Ok(Value::Float(round_float(*float, precision))),
        _ => fail!("type {} doesn't define __round__ method", value.type_name()),
    }
}

/// To a multiple of a power of ten, a tie to the even one.
fn round_int(int: i128, precision: i128) -> i128 {
    let Some(unit) = u32::try_from(-precision).ok().and_then(|power| 10i128.checked_pow(power))
    else {
        return 0;
    };
    let rest = int.rem_euclid(unit);
    let down = int - rest;
    let is_odd = (down / unit) % 2 != 0;
    if rest * 2 > unit || (rest * 2 == unit && is_odd) {
        down + unit
    } else {
        down
    }
}

/// Correct to the last digit, as CPython rounds: by way of the decimal digits.
fn round_float(float: f64, precision: i128) -> f64 {
    if !float.is_finite() || precision > 323 {
        return float;
    }
    if precision < -308 {
        return 0.0_f64.copysign(float);
    }
    if precision >= 0 {
        let digits = precision as usize;
        return format!("{float:.digits$}").parse().unwrap_or(float);
    }
    let unit = 10f64.powi(-precision as i32);
    let scaled = float / unit;
    let mut whole = scaled.round();
    if (scaled - whole).abs() == 0.5 {
        whole = 2.0 * (scaled / 2.0).round();
    }
    whole * unit
}
