//! Methods of lists, tuples, dicts, numbers and Jinja's own objects.

use super::calls::bind;
use super::error::{fail, Result};
use super::operators::contains;
use super::run::{CallArguments, Run};
use super::sequences::iterate;
use super::value::{Dict, Items, Value, View};
use std::rc::Rc;

pub fn call(run: &Run, object: &Value, name: &str, arguments: CallArguments) -> Result<Value> {
    match object {
        Value::Dict(dict) => dict_method(run, dict, name, arguments),
        Value::List(_) | Value::Tuple(_) | Value::Group(_) | Value::Range(_) => {
            sequence_method(run, object, name, arguments)
        }
        Value::View(_, items) => {
            let bound = bind(name, arguments, &[""], 1)?;
            for item in &items.values {
                if contains(run, item, bound.must(0))? {
                    return Ok(Value::Bool(false));
                }
            }
            Ok(Value::Bool(true))
        }
        Value::Loop(state) => match name {
            "cycle" => {
                if arguments.positional.is_empty() {
                    return fail!("no items for cycling given");
                }
                let at = state.index0.get().max(0) as usize % arguments.positional.len();
                Ok(arguments.positional[at].clone())
            }
            _ => {
                let now = Value::tuple(arguments.positional)?;
                let mut last = state.changed.borrow_mut();
                let is_same = last.as_ref().is_some_and(|last| last.equals(&now));
                *last = Some(now);
                Ok(Value::Bool(!is_same))
            }
        },
        Value::Cycler(cycler) => {
            bind(name, arguments, &[], 0)?;
            let at = cycler.at.get();
            let is_next = name == "next";
            cycler.at.set(if is_next { (at + 1) % cycler.items.values.len() } else { 0 });
            Ok(if is_next { cycler.items.values[at].clone() } else { Value::None })
        }
        _ => number_method(object, name, arguments),
    }
}

fn number_method(object: &Value, name: &str, arguments: CallArguments) -> Result<Value> {
    bind(name, arguments, &[], 0)?;
    match (name, object.as_int(), object) {
        ("bit_length", Some(int), _) => {
            Ok(Value::Int(i128::from(128 - int.unsigned_abs().leading_zeros())))
        }
        ("bit_count", Some(int), _) => Ok(Value::Int(i128::from(int.unsigned_abs().count_ones()))),
        ("conjugate", Some(int), _) => Ok(Value::Int(int)),
        ("conjugate", None, Value::Float(float)) => Ok(Value::Float(*float)),
        ("is_integer", None, Value::Float(float)) => Ok(Value::Bool(float.fract() == 0.0)),
        ("as_integer_ratio", Some(int), _) => Value::tuple(vec![Value::Int(int), Value::Int(1)]),
        _ => fail!("the method {}.{name} is not supported", object.type_name()),
    }
}

fn dict_method(run: &Run, dict: &Rc<Dict>, name: &str, arguments: CallArguments) -> Result<Value> {
    match name {
        "get" => {
            let bound = bind(name, arguments, &["", ""], 1)?;
            run.budget.steps(bound.must(0).weight())?;
            let found = dict.get(bound.must(0))?.cloned();
            Ok(found.or_else(|| bound.get(1).cloned()).unwrap_or(Value::None))
        }
        "items" | "keys" | "values" => {
            bind(name, arguments, &[], 0)?;
            run.budget.items(dict.len() * 3)?;
            Ok(match name {
                "items" => Value::View(View::Items, Items::new(dict.pairs()?)?),
                "keys" => Value::View(View::Keys, Items::new(dict.keys())?),
                _ => Value::View(View::Values, Items::new(dict.values())?),
            })
        }
        "copy" => {
            bind(name, arguments, &[], 0)?;
            run.budget.items(dict.len() * 3)?;
            Ok(Value::Dict(Rc::new((**dict).clone())))
        }
        _ => {
            let bound = bind(name, arguments, &["", ""], 1)?;
            let value = bound.get(1).cloned().unwrap_or(Value::None);
            let keys = iterate(run, bound.must(0))?;
            let pairs = keys.into_iter().map(|key| (key, value.clone()));
            Ok(Value::Dict(Rc::new(Dict::from_pairs(pairs)?)))
        }
    }
}

fn sequence_method(
    run: &Run,
    object: &Value,
    name: &str,
    arguments: CallArguments,
) -> Result<Value> {
    let items = iterate(run, object)?;
    match name {
        "copy" => {
            bind(name, arguments, &[], 0)?;
            Value::list(items)
        }
        "count" => {
            let bound = bind(name, arguments, &[""], 1)?;
            let wanted = bound.must(0);
            let count = items.iter().filter(|item| item.equals(wanted)).count();
            Ok(Value::Int(count as i128))
        }
        _ => {
            let bound = bind(name, arguments, &["", "", ""], 1)?;
            let place = |index: usize, default: usize| -> Result<usize> {
                let Some(value) = bound.get(index) else { return Ok(default) };
                let Some(at) = value.as_int() else {
                    return fail!("slice indices must be integers or have an __index__ method");
                };
                let length = items.len() as i128;
                let at = if at < 0 { (at + length).max(0) } else { at.min(length) };
                Ok(at as usize)
            };
            let (from, to) = (place(1, 0)?, place(2, items.len())?);
            let within = items.get(from..to.max(from)).unwrap_or_default();
            match within.iter().position(|item| item.equals(bound.must(0))) {
                Some(at) => Ok(Value::Int((from + at) as i128)),
                None => fail!("the value is not in the {}", object.type_name()),
            }
        }
    }
}
