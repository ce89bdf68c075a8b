//! `value.name`, `value[index]` and slices, as Jinja's sandbox allows them.

use super::error::{fail, Result};
use super::operators::refuse_undefined;
use super::print::repr_of;
use super::run::Run;
use super::text::Text;
use super::value::{Dict, Range, Value, View};
use std::rc::Rc;

const TEXT_METHODS: &[&str] = &[
    "capitalize",
    "casefold",
    "center",
    "count",
    "encode",
    "endswith",
    "expandtabs",
    "find",
    "format",
    "format_map",
    "index",
    "isalnum",
    "isalpha",
    "isascii",
    "isdecimal",
    "isdigit",
    "isidentifier",
    "islower",
    "isnumeric",
    "isprintable",
    "isspace",
    "istitle",
    "isupper",
    "join",
    "ljust",
    "lower",
    "lstrip",
    "maketrans",
    "partition",
    "removeprefix",
    "removesuffix",
    "replace",
    "rfind",
    "rindex",
    "rjust",
    "rpartition",
    "rsplit",
    "rstrip",
    "split",
    "splitlines",
    "startswith",
    "strip",
    "swapcase",
    "title",
    "translate",
    "upper",
    "zfill",
];
const MARKUP_METHODS: &[&str] = &["escape", "striptags", "unescape"];
const LIST_METHODS: &[&str] = &["copy", "count", "index"];
const LIST_CHANGES: &[&str] =
    &["append", "clear", "extend", "insert", "pop", "remove", "reverse", "sort"];
const DICT_METHODS: &[&str] = &["copy", "fromkeys", "get", "items", "keys", "values"];
const DICT_CHANGES: &[&str] = &["clear", "pop", "popitem", "setdefault", "update"];
const INT_METHODS: &[&str] =
    &["as_integer_ratio", "bit_count", "bit_length", "conjugate", "from_bytes", "to_bytes"];
const FLOAT_METHODS: &[&str] = &["as_integer_ratio", "conjugate", "fromhex", "hex", "is_integer"];
const ITERATOR_INTERNALS: &[&str] =
    &["close", "gi_code", "gi_frame", "gi_running", "gi_yieldfrom", "send", "throw"];

/// The result of Python's `getattr`; `Err` if the sandbox hides the attribute.
enum Found {
    Value(Value),
    Hidden,
    Nothing,
}

fn method(value: &Value, name: &str) -> Found {
    Found::Value(Value::Method(Rc::new((value.clone(), name.to_owned()))))
}

fn find(run: &Run, value: &Value, name: &str) -> Result<Found> {
    refuse_undefined(&[value])?;
    if let Value::Namespace(namespace) = value {
        return Ok(match namespace.entries.borrow().get_name(name) {
            Some(found) => Found::Value(found.clone()),
            None => Found::Nothing,
        });
    }
    if name.starts_with("__") && name.ends_with("__") && name.len() > 4 {
        return Ok(if is_object_attribute(name) { Found::Hidden } else { Found::Nothing });
    }
    let has = |names: &[&str]| names.contains(&name);
    Ok(match value {
        Value::Text(_) if has(TEXT_METHODS) => method(value, name),
        Value::Text(text) if text.markup && has(MARKUP_METHODS) => method(value, name),
        Value::List(_) if has(LIST_METHODS) => method(value, name),
        Value::List(_) if has(LIST_CHANGES) => Found::Hidden,
        Value::Dict(_) if has(DICT_METHODS) => method(value, name),
        Value::Dict(_) if has(DICT_CHANGES) => Found::Hidden,
        Value::Group(items) if name == "grouper" => Found::Value(items.values[0].clone()),
        Value::Group(items) if name == "list" => Found::Value(items.values[1].clone()),
        Value::Tuple(_) | Value::Group(_) | Value::Range(_) if has(&["count", "index"]) => {
            method(value, name)
        }
        Value::Range(range) => match name {
            "start" => Found::Value(Value::Int(range.start)),
            "stop" => Found::Value(Value::Int(range.stop)),
            "step" => Found::Value(Value::Int(range.step)),
            _ => Found::Nothing,
        },
        Value::Bool(_) | Value::Int(_) => int_attribute(value, name),
        Value::Float(float) => match name {
            "real" => Found::Value(Value::Float(*float)),
            "imag" => Found::Value(Value::Float(0.0)),
            _ if has(FLOAT_METHODS) => method(value, name),
            _ => Found::Nothing,
        },
        Value::View(view, _) => match name {
            "isdisjoint" if *view != View::Values => method(value, name),
            "mapping" => Found::Hidden,
            _ => Found::Nothing,
        },
        Value::Iterator(each) if each.type_name == "generator" && has(ITERATOR_INTERNALS) => {
            Found::Hidden
        }
        Value::Cycler(cycler) => match name {
            "next" | "reset" => method(value, name),
            "current" => Found::Value(cycler.items.values[cycler.at.get()].clone()),
            "pos" => Found::Value(Value::Int(cycler.at.get() as i128)),
            "items" => Found::Value(Value::Tuple(cycler.items.clone())),
            _ => Found::Nothing,
        },
        Value::Macro(object) => macro_attribute(run, object, name)?,
        Value::Loop(_) => loop_attribute(run, value, name)?,
        Value::Function("dict") if name == "fromkeys" => {
            Found::Value(Value::Function("dict.fromkeys"))
        }
        _ => Found::Nothing,
    })
}

/// Names of every Python object, all of which the sandbox hides.
fn is_object_attribute(name: &str) -> bool {
    matches!(
        name,
        "__class__"
            | "__delattr__"
            | "__dict__"
            | "__dir__"
            | "__doc__"
            | "__eq__"
            | "__format__"
            | "__ge__"
            | "__getattribute__"
            | "__getstate__"
            | "__gt__"
            | "__hash__"
            | "__init__"
            | "__init_subclass__"
            | "__le__"
            | "__lt__"
            | "__module__"
            | "__ne__"
            | "__new__"
            | "__reduce__"
            | "__reduce_ex__"
            | "__repr__"
            | "__setattr__"
            | "__sizeof__"
            | "__str__"
            | "__subclasshook__"
            | "__len__"
            | "__iter__"
            | "__contains__"
            | "__getitem__"
            | "__add__"
            | "__mul__"
            | "__mod__"
            | "__globals__"
            | "__code__"
    )
}

fn int_attribute(value: &Value, name: &str) -> Found {
    match name {
        "real" | "numerator" => Found::Value(Value::Int(value.as_int().unwrap_or(0))),
        "imag" => Found::Value(Value::Int(0)),
        "denominator" => Found::Value(Value::Int(1)),
        _ if INT_METHODS.contains(&name) => method(value, name),
        _ => Found::Nothing,
    }
}

fn macro_attribute(run: &Run, object: &super::value::Macro, name: &str) -> Result<Found> {
    let body = &object.body;
    Ok(match name {
        "name" if body.name.is_empty() => Found::Value(Value::None),
        "name" => Found::Value(Value::text(&body.name)),
        "arguments" => {
            let names = body.parameters.iter().map(|(name, _)| Value::text(run.name(*name)));
            Found::Value(Value::tuple(names.collect())?)
        }
        "caller" => Found::Value(Value::Bool(body.caller.is_some())),
        "catch_kwargs" => Found::Value(Value::Bool(body.kwargs.is_some())),
        "catch_varargs" => Found::Value(Value::Bool(body.varargs.is_some())),
        "explicit_caller" => Found::Value(Value::Bool(body.explicit_caller)),
        _ => Found::Nothing,
    })
}

fn loop_attribute(run: &Run, value: &Value, name: &str) -> Result<Found> {
    let Value::Loop(state) = value else { return Ok(Found::Nothing) };
    let index0 = state.index0.get();
    let int = |value: i64| Found::Value(Value::Int(i128::from(value)));
    Ok(match name {
        "index" => int(index0 + 1),
        "index0" => int(index0),
        "revindex" => int(state.length(run)? - index0),
        "revindex0" => int(state.length(run)? - index0 - 1),
        "first" => Found::Value(Value::Bool(index0 == 0)),
        "last" => Found::Value(Value::Bool(state.peek(run)?.is_none())),
        "length" => int(state.length(run)?),
        "depth" => int(state.depth0 as i64 + 1),
        "depth0" => int(state.depth0 as i64),
        "previtem" => Found::Value(
            state
                .previous
                .borrow()
                .clone()
                .unwrap_or_else(|| Value::undefined("there is no previous item")),
        ),
        "nextitem" => Found::Value(
            state.peek(run)?.unwrap_or_else(|| Value::undefined("there is no next item")),
        ),
        "changed" | "cycle" => method(value, name),
        _ => Found::Nothing,
    })
}

fn missing(value: &Value, name: &str) -> Value {
    let kind = match value {
        Value::None => "None".to_owned(),
        _ => format!("'{} object'", value.type_name()),
    };
    Value::undefined(format!("{kind} has no attribute '{name}'"))
}

fn hidden(value: &Value, name: &str) -> Value {
    let kind = value.type_name();
    Value::undefined(format!("access to attribute '{name}' of '{kind}' object is unsafe."))
}

/// `value.name`: the attribute, else the item of that name.
pub fn get_attribute(run: &Run, value: &Value, name: &str) -> Result<Value> {
    match find(run, value, name)? {
        Found::Value(found) if name.starts_with('_') => {
            drop(found);
            Ok(hidden(value, name))
        }
        Found::Value(found) => Ok(found),
        Found::Hidden => Ok(hidden(value, name)),
        Found::Nothing => match value {
            Value::Dict(dict) => {
                Ok(dict.get_name(name).cloned().unwrap_or_else(|| missing(value, name)))
            }
            _ => Ok(missing(value, name)),
        },
    }
}

/// The filter `attr`: the attribute alone.
pub fn get_attribute_only(run: &Run, value: &Value, name: &str) -> Result<Value> {
    match find(run, value, name)? {
        Found::Value(found) => Ok(found),
        Found::Hidden => Ok(hidden(value, name)),
        Found::Nothing => Ok(missing(value, name)),
    }
}

/// `value[index]`: the item, else the attribute of that name. A slice is Python's own and raises.
pub fn get_item(run: &Run, value: &Value, index: &Value) -> Result<Value> {
    refuse_undefined(&[value])?;
    if let Value::Slice(parts) = index {
        return slice(run, value, &parts.values);
    }
    run.budget.steps(index.weight())?; // Its hash.
    if let Some(found) = subscript(value, index)? {
        return Ok(found);
    }
    if let Value::Text(name) = index {
        let name = name.to_plain();
        return match find(run, value, &name)? {
            Found::Value(found) => Ok(found),
            Found::Hidden => Ok(hidden(value, &name)),
            Found::Nothing => Ok(missing(value, &name)),
        };
    }
    let index = repr_of(run, index)?.to_plain();
    Ok(Value::undefined(format!("{} has no element {index}", value.type_name())))
}

/// Python's `value[index]`, if it does not raise.
fn subscript(value: &Value, index: &Value) -> Result<Option<Value>> {
    if let Value::Dict(dict) = value {
        return Ok(dict.get(index).ok().flatten().cloned());
    }
    let Some(index) = index.as_int() else { return Ok(None) };
    let place = |length: usize| {
        let length = length as i128;
        let at = if index < 0 { index + length } else { index };
        (0..length).contains(&at).then_some(at as usize)
    };
    Ok(match value {
        Value::Text(text) => place(text.len()).map(|at| {
            let mut one = Text::new(vec![text.chars()[at]]);
            one.markup = text.markup;
            Value::Text(one)
        }),
        Value::List(items) | Value::Tuple(items) | Value::Group(items) => {
            place(items.values.len()).map(|at| items.values[at].clone())
        }
        Value::Range(range) => place(range.len()).map(|at| range.at(at)),
        _ => None,
    })
}

/// A slice: its start, its step, and how many items it takes.
struct Cut {
    start: i128,
    step: i128,
    count: usize,
}

fn cut(parts: &[Value], length: usize) -> Result<Cut> {
    let length = length as i128;
    let part = |index: usize| match &parts[index] {
        Value::None => Ok(None),
        other => match other.as_int() {
            Some(int) => Ok(Some(int)),
            None => fail!("slice indices must be integers or None or have an __index__ method"),
        },
    };
    let step = part(2)?.unwrap_or(1);
    if step == 0 {
        return fail!("slice step cannot be zero");
    }
    let (low, high) = if step > 0 { (0, length) } else { (-1, length - 1) };
    let bound = |value: Option<i128>, default: i128| match value {
        None => default,
        Some(at) if at < 0 => at.saturating_add(length).max(low),
        Some(at) => at.min(high),
    };
    let (start, stop) = if step > 0 {
        (bound(part(0)?, low), bound(part(1)?, high))
    } else {
        (bound(part(0)?, high), bound(part(1)?, low))
    };
    let span = if step > 0 { stop - start } else { start - stop };
    let size = step.unsigned_abs() as i128;
    let count = if span <= 0 { 0 } else { (span - 1) / size + 1 };
    Ok(Cut { start, step, count: count as usize })
}

fn slice(run: &Run, value: &Value, parts: &[Value]) -> Result<Value> {
    let pick = |length: usize| -> Result<Vec<usize>> {
        let cut = cut(parts, length)?;
        run.budget.characters(cut.count)?;
        Ok((0..cut.count as i128).map(|at| (cut.start + at * cut.step) as usize).collect())
    };
    Ok(match value {
        Value::Text(text) => {
            let chars = pick(text.len())?.into_iter().map(|at| text.chars()[at]).collect();
            let mut made = Text::new(chars);
            made.markup = text.markup;
            Value::Text(made)
        }
        Value::List(items) => {
            let picked = pick(items.values.len())?;
            run.budget.items(picked.len())?;
            Value::list(picked.into_iter().map(|at| items.values[at].clone()).collect())?
        }
        Value::Tuple(items) | Value::Group(items) => {
            let picked = pick(items.values.len())?;
            run.budget.items(picked.len())?;
            Value::tuple(picked.into_iter().map(|at| items.values[at].clone()).collect())?
        }
        Value::Range(range) => {
            let cut = cut(parts, range.len())?;
            let step = range.step * cut.step;
            let start = range.start + cut.start * range.step;
            Value::Range(Range { start, stop: start + step * cut.count as i128, step })
        }
        _ => return fail!("'{}' object cannot be sliced", value.type_name()),
    })
}

/// `make_attrgetter`'s path: names and numbers with dots between.
pub fn get_path(
    run: &Run,
    value: &Value,
    path: &[Value],
    default: Option<&Value>,
) -> Result<Value> {
    let mut value = value.clone();
    for part in path {
        run.budget.step()?;
        value = get_item(run, &value, part)?;
        if let (true, Some(default)) = (value.is_undefined(), default) {
            value = default.clone();
        }
    }
    Ok(value)
}

pub fn path_of(attribute: &Value) -> Vec<Value> {
    match attribute {
        Value::None => Vec::new(),
        Value::Text(text) => text
            .to_plain()
            .split('.')
            .map(|part| match part.parse::<i128>() {
                Ok(index) if part.bytes().all(|b| b.is_ascii_digit()) => Value::Int(index),
                _ => Value::text(part),
            })
            .collect(),
        other => vec![other.clone()],
    }
}

/// The entries of a mapping, for what takes one.
pub fn entries_of<'v>(value: &'v Value, what: &str) -> Result<&'v Rc<Dict>> {
    match value {
        Value::Dict(dict) => Ok(dict),
        _ => fail!("{what} needs a mapping, not '{}'", value.type_name()),
    }
}
