//! Tests: what stands after `is`.

use super::ast::{Comparison, Operator};
use super::calls::{bind, is_callable};
use super::error::{fail, Result};
use super::filters;
use super::operators::{binary, compare};
use super::print::str_of;
use super::run::{CallArguments, Run};
use super::sequences::is_iterable;
use super::text::letter;
use super::value::Value;

const NAMES: [&str; 39] = [
    "odd",
    "even",
    "divisibleby",
    "defined",
    "undefined",
    "filter",
    "test",
    "none",
    "boolean",
    "false",
    "true",
    "integer",
    "float",
    "lower",
    "upper",
    "string",
    "mapping",
    "number",
    "sequence",
    "iterable",
    "callable",
    "sameas",
    "escaped",
    "in",
    "==",
    "eq",
    "equalto",
    "!=",
    "ne",
    ">",
    "gt",
    "greaterthan",
    "ge",
    ">=",
    "<",
    "lt",
    "lessthan",
    "<=",
    "le",
];

pub fn is_known(name: &str) -> bool {
    NAMES.contains(&name)
}

fn comparison_of(name: &str) -> Option<Comparison> {
    Some(match name {
        "in" => Comparison::In,
        "==" | "eq" | "equalto" => Comparison::Equal,
        "!=" | "ne" => Comparison::NotEqual,
        ">" | "gt" | "greaterthan" => Comparison::Greater,
        ">=" | "ge" => Comparison::GreaterOrEqual,
        "<" | "lt" | "lessthan" => Comparison::Less,
        "<=" | "le" => Comparison::LessOrEqual,
        _ => return None,
    })
}

pub fn apply(run: &Run, name: &str, value: &Value, arguments: CallArguments) -> Result<Value> {
    run.budget.step()?;
    if let Some(comparison) = comparison_of(name) {
        let names = [if name == "in" { "seq" } else { "" }];
        let bound = bind(name, arguments, &names, 1)?;
        return Ok(Value::Bool(compare(run, comparison, value, bound.must(0))?));
    }
    match name {
        "divisibleby" | "odd" | "even" => {
            let names: &[&str] = if name == "divisibleby" { &["num"] } else { &[] };
            let bound = bind(name, arguments, names, names.len())?;
            let (by, rest) = match name {
                "odd" => (Value::Int(2), 1),
                "even" => (Value::Int(2), 0),
                _ => (bound.must(0).clone(), 0),
            };
            let modulo = binary(run, Operator::Modulo, value, &by)?;
            Ok(Value::Bool(modulo.equals(&Value::Int(rest))))
        }
        "sameas" => {
            let bound = bind(name, arguments, &["other"], 1)?;
            Ok(Value::Bool(value.is_same(bound.must(0))))
        }
        _ if !is_known(name) => fail!("no test named '{name}'"),
        _ => {
            bind(name, arguments, &[], 0)?;
            plain(run, name, value).map(Value::Bool)
        }
    }
}

fn plain(run: &Run, name: &str, value: &Value) -> Result<bool> {
    Ok(match name {
        "defined" => !value.is_undefined(),
        "undefined" => value.is_undefined(),
        "filter" => matches!(value, Value::Text(name) if filters::is_known(&name.to_plain())),
        "test" => matches!(value, Value::Text(name) if is_known(&name.to_plain())),
        "none" => matches!(value, Value::None),
        "boolean" => matches!(value, Value::Bool(_)),
        "false" => matches!(value, Value::Bool(false)),
        "true" => matches!(value, Value::Bool(true)),
        "integer" => matches!(value, Value::Int(_)),
        "float" => matches!(value, Value::Float(_)),
        "string" => matches!(value, Value::Text(_)),
        "mapping" => matches!(value, Value::Dict(_)),
        "number" => value.is_number(),
        "sequence" => matches!(
            value,
            Value::Undefined(_)
                | Value::Text(_)
                | Value::List(_)
                | Value::Tuple(_)
                | Value::Group(_)
                | Value::Dict(_)
                | Value::Range(_)
        ),
        "iterable" => is_iterable(value),
        "callable" => is_callable(value),
        "escaped" => matches!(value, Value::Text(text) if text.markup),
        _ => {
            let text = str_of(run, value)?;
            run.budget.look(text.len())?;
            let has = |test: fn(char) -> bool| text.chars().iter().any(|c| test(letter(*c)));
            if name == "lower" {
                has(char::is_lowercase) && !has(char::is_uppercase)
            } else {
                has(char::is_uppercase) && !has(char::is_lowercase)
            }
        }
    })
}
