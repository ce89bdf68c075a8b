//! Calls: how arguments meet parameters, and what can be called.

use super::error::{fail, Result};
use super::run::{CallArguments, Run};
use super::value::Value;
use super::{globals, methods, text_methods};

/// Arguments by the place of their parameter.
pub struct Bound {
    values: Vec<Option<Value>>,
}

impl Bound {
    pub fn get(&self, index: usize) -> Option<&Value> {
        self.values.get(index).and_then(Option::as_ref)
    }
    /// A required one; `bind` has checked that it is there.
    pub fn must(&self, index: usize) -> &Value {
        self.get(index).unwrap_or(&Value::None)
    }
    pub fn is_true(&self, index: usize) -> bool {
        self.get(index).is_some_and(Value::is_true)
    }
}

/// `names` are the parameters, "" for one that cannot be given by name.
pub fn bind(
    function: &str,
    arguments: CallArguments,
    names: &[&str],
    required: usize,
) -> Result<Bound> {
    let given = arguments.positional.len();
    if given > names.len() {
        return fail!("{function} takes at most {} argument(s), {given} given", names.len());
    }
    let mut values: Vec<Option<Value>> = arguments.positional.into_iter().map(Some).collect();
    values.resize(names.len(), None);
    for (name, value) in arguments.named {
        let Some(place) = names.iter().position(|each| *each == name && !name.is_empty()) else {
            return fail!("{function} got an unexpected keyword argument '{name}'");
        };
        if values[place].is_some() {
            return fail!("{function} got multiple values for argument '{name}'");
        }
        values[place] = Some(value);
    }
    if let Some(missing) = values[..required].iter().position(Option::is_none) {
        return fail!("{function} is missing its argument {} '{}'", missing + 1, names[missing]);
    }
    Ok(Bound { values })
}

pub fn call(run: &Run, callee: &Value, arguments: CallArguments) -> Result<Value> {
    match callee {
        Value::Undefined(why) => fail!("{why}"),
        Value::Function(name) => globals::call(run, name, arguments),
        Value::Macro(object) => run.call_macro(object, arguments),
        Value::Method(method) => match &method.0 {
            Value::Text(text) => text_methods::call(run, text, &method.1, arguments),
            object => methods::call(run, object, &method.1, arguments),
        },
        Value::Joiner(joiner) => {
            bind("joiner", arguments, &[], 0)?;
            let is_first = !joiner.1.replace(true);
            Ok(if is_first { Value::text("") } else { Value::Text(joiner.0.clone()) })
        }
        Value::Loop(state) => {
            let bound = bind("loop", arguments, &["iterable"], 1)?;
            state.recurse(run, bound.must(0).clone())
        }
        _ => fail!("'{}' object is not callable", callee.type_name()),
    }
}

pub fn is_callable(value: &Value) -> bool {
    matches!(
        value,
        Value::Function(_)
            | Value::Macro(_)
            | Value::Method(_)
            | Value::Joiner(_)
            | Value::Loop(_)
            | Value::Undefined(_)
    )
}
