//! The functions that every template has.

use super::calls::{bind, Bound};
use super::clock;
use super::error::{fail, Result};
use super::operators::refuse_undefined;
use super::print::str_of;
use super::run::{check_namespace_name, CallArguments, Run};
use super::sequences::iterate;
use super::text::Text;
use super::value::{Cycler, Dict, Items, Range, Value};
use std::cell::Cell;
use std::rc::Rc;

/// As Jinja's sandbox has it.
const RANGE_MAX: usize = 100_000;

const NAMES: [&str; 8] =
    ["range", "dict", "namespace", "cycler", "joiner", "lipsum", "raise_exception", "strftime_now"];

pub fn find(name: &str) -> Option<Value> {
    NAMES.iter().find(|each| **each == name).map(|name| Value::Function(name))
}

pub fn call(run: &Run, name: &str, arguments: CallArguments) -> Result<Value> {
    match name {
        "range" => range(&bind(name, arguments, &["", "", ""], 1)?),
        "dict" => Ok(Value::Dict(Rc::new(dict_of(run, arguments)?))),
        "dict.fromkeys" => {
            let bound = bind("fromkeys", arguments, &["", ""], 1)?;
            let value = bound.get(1).cloned().unwrap_or(Value::None);
            let keys = iterate(run, bound.must(0))?;
            let pairs = keys.into_iter().map(|key| (key, value.clone()));
            Ok(Value::Dict(Rc::new(Dict::from_pairs(pairs)?)))
        }
        "namespace" => {
            let dict = dict_of(run, arguments)?;
            for (key, _) in dict.entries() {
                if let Value::Text(key) = key {
                    check_namespace_name(&key.to_plain())?;
                }
            }
            Ok(run.namespace(dict))
        }
        "cycler" => {
            if arguments.positional.is_empty() || !arguments.named.is_empty() {
                return fail!("cycler: at least one item has to be provided, none by name");
            }
            let items = Items::new(arguments.positional)?;
            Ok(Value::Cycler(Rc::new(Cycler { items, at: Cell::new(0) })))
        }
        "joiner" => {
            let bound = bind(name, arguments, &["sep"], 0)?;
            let separator = match bound.get(0) {
                Some(value) => str_of(run, value)?,
                None => Text::plain(", "),
            };
            Ok(Value::Joiner(Rc::new((separator, Cell::new(false)))))
        }
        "lipsum" => fail!("lipsum is random; a chat template cannot use it"),
        "raise_exception" => {
            let bound = bind(name, arguments, &["message"], 1)?;
            fail!("{}", str_of(run, bound.must(0))?.to_plain())
        }
        "strftime_now" => {
            let bound = bind(name, arguments, &["format"], 1)?;
            let Value::Text(format) = bound.must(0) else {
                return fail!("strftime_now: the format must be a string");
            };
            Ok(Value::text(&clock::strftime(&format.to_plain(), run.now_unix_seconds)?))
        }
        _ => fail!("'{name}' is not callable"),
    }
}

fn range(bound: &Bound) -> Result<Value> {
    let int = |index: usize| match bound.get(index) {
        None => Ok(None),
        Some(value) => {
            refuse_undefined(&[value])?;
            match value.as_int() {
                Some(int) if int.unsigned_abs() < 1 << 62 => Ok(Some(int)),
                Some(int) => fail!("range: {int} is out of range"),
                None => {
                    fail!("'{}' object cannot be interpreted as an integer", value.type_name())
                }
            }
        }
    };
    let (start, stop) = match (int(0)?.unwrap_or(0), int(1)?) {
        (stop, None) => (0, stop),
        (start, Some(stop)) => (start, stop),
    };
    let step = int(2)?.unwrap_or(1);
    if step == 0 {
        return fail!("range() arg 3 must not be zero");
    }
    let range = Range { start, stop, step };
    if range.len() > RANGE_MAX {
        return fail!("range too big: {} items, and the sandbox allows {RANGE_MAX}", range.len());
    }
    Ok(Value::Range(range))
}

/// `dict(mapping or pairs, **named)`.
fn dict_of(run: &Run, arguments: CallArguments) -> Result<Dict> {
    let mut dict = Dict::from_pairs([])?;
    if arguments.positional.len() > 1 {
        return fail!("dict expected at most 1 argument, got {}", arguments.positional.len());
    }
    match arguments.positional.first() {
        None => {}
        Some(Value::Dict(from)) => {
            run.budget.items(from.len() * 3)?;
            dict = (**from).clone();
        }
        Some(pairs) => {
            for pair in iterate(run, pairs)? {
                let pair = iterate(run, &pair)?;
                let [key, value] = &pair[..] else {
                    return fail!("dict: an element has {} parts; 2 are required", pair.len());
                };
                dict.insert(key.clone(), value.clone())?;
            }
        }
    }
    for (name, value) in arguments.named {
        dict.insert(Value::text(&name), value)?;
    }
    Ok(dict)
}
