//! `str` and `repr`.

use super::error::Result;
use super::run::Run;
use super::text::{code, is_printable, letter, plain_text, Char, Text};
use super::value::{Dict, Items, Value, View};

/// `str(value)`.
pub fn str_of(run: &Run, value: &Value) -> Result<Text> {
    Ok(match value {
        Value::Text(text) => text.clone(),
        Value::Undefined(_) => Text::plain(""),
        _ => {
            let mut out = Vec::new();
            repr_into(run, value, &mut out)?;
            Text::new(out)
        }
    })
}

/// `repr(value)`.
pub fn repr_of(run: &Run, value: &Value) -> Result<Text> {
    let mut out = Vec::new();
    repr_into(run, value, &mut out)?;
    Ok(Text::new(out))
}

fn put(out: &mut Vec<Char>, text: &str) {
    out.extend(text.chars().map(|c| c as u32));
}

pub fn repr_into(run: &Run, value: &Value, out: &mut Vec<Char>) -> Result<()> {
    run.budget.step()?;
    match value {
        Value::Undefined(_) => put(out, "Undefined"),
        Value::None => put(out, "None"),
        Value::Bool(value) => put(out, if *value { "True" } else { "False" }),
        Value::Int(value) => put(out, &value.to_string()),
        Value::Float(value) => put(out, &float(*value)),
        Value::Text(text) => {
            run.budget.characters(text.len() * 2)?;
            if text.markup {
                put(out, "Markup(");
            }
            quoted(text.chars(), out);
            if text.markup {
                put(out, ")");
            }
        }
        Value::List(items) => list(run, "[", items, "]", out)?,
        Value::Tuple(items) | Value::Group(items) => {
            let end = if items.values.len() == 1 { ",)" } else { ")" };
            list(run, "(", items, end, out)?;
        }
        Value::Slice(items) => list(run, "slice(", items, ")", out)?,
        Value::View(view, items) => {
            let name = match view {
                View::Keys => "dict_keys([",
                View::Values => "dict_values([",
                View::Items => "dict_items([",
            };
            list(run, name, items, "])", out)?;
        }
        Value::Dict(dict) => entries(run, dict, out)?,
        Value::Range(range) => {
            let step = if range.step == 1 { String::new() } else { format!(", {}", range.step) };
            put(out, &format!("range({}, {}{step})", range.start, range.stop));
        }
        Value::Namespace(namespace) => {
            put(out, "<Namespace ");
            run.budget.nested(|| entries(run, &namespace.entries.borrow(), out))?;
            put(out, ">");
        }
        Value::Macro(object) if object.body.name.is_empty() => put(out, "<Macro anonymous>"),
        Value::Macro(object) => put(out, &format!("<Macro '{}'>", object.body.name)),
        Value::Loop(state) => {
            let length = state.length(run)?;
            put(out, &format!("<LoopContext {}/{length}>", state.index0.get() + 1));
        }
        other => put(out, &format!("<{} object>", other.type_name())),
    }
    Ok(())
}

fn list(run: &Run, begin: &str, items: &Items, end: &str, out: &mut Vec<Char>) -> Result<()> {
    put(out, begin);
    for (index, item) in items.values.iter().enumerate() {
        put(out, if index > 0 { ", " } else { "" });
        repr_into(run, item, out)?;
    }
    put(out, end);
    Ok(())
}

fn entries(run: &Run, dict: &Dict, out: &mut Vec<Char>) -> Result<()> {
    put(out, "{");
    for (index, (key, value)) in dict.entries().iter().enumerate() {
        put(out, if index > 0 { ", " } else { "" });
        repr_into(run, key, out)?;
        put(out, ": ");
        repr_into(run, value, out)?;
    }
    put(out, "}");
    Ok(())
}

/// A text in quotes; escapes keep the origin of what they stand for.
pub fn quoted(text: &[Char], out: &mut Vec<Char>) {
    let has = |wanted: char| text.iter().any(|c| letter(*c) == wanted);
    let quote = if has('\'') && !has('"') { '"' } else { '\'' };
    out.push(quote as u32);
    for c in text {
        let escape = match letter(*c) {
            '\n' => "\\n".to_owned(),
            '\r' => "\\r".to_owned(),
            '\t' => "\\t".to_owned(),
            '\\' => "\\\\".to_owned(),
            each if each == quote => format!("\\{quote}"),
            _ if is_printable(*c) => {
                out.push(*c);
                continue;
            }
            each if (each as u32) < 0x100 => format!("\\x{:02x}", each as u32),
            each if (each as u32) < 0x10000 => format!("\\u{:04x}", each as u32),
            each => format!("\\U{:08x}", each as u32),
        };
        out.extend(escape.chars().map(|each| each as u32 | (c ^ code(*c))));
    }
    out.push(quote as u32);
}

pub fn quoted_name(text: &Text) -> String {
    let mut out = Vec::new();
    quoted(text.chars(), &mut out);
    plain_text(&out)
}

/// `repr` of a float: 1.0, 1e+16, 1e-05.
pub fn float(value: f64) -> String {
    if value.is_nan() {
        return "nan".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    let size = value.abs();
    if size != 0.0 && !(1e-4..1e16).contains(&size) {
        let scientific = format!("{value:e}");
        let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
        let (sign, exponent) = match exponent.strip_prefix('-') {
            Some(exponent) => ('-', exponent),
            None => ('+', exponent),
        };
        return format!("{digits}e{sign}{exponent:0>2}");
    }
    format!("{value:?}")
}
