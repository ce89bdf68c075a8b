//! Iteration, lengths, sorting.

use super::error::{fail, Result};
use super::operators::ordering;
use super::run::Run;
use super::text::Text;
use super::value::Value;

/// All items of what can be iterated over; an iterator is empty after that.
pub fn iterate(run: &Run, value: &Value) -> Result<Vec<Value>> {
    if let Some(items) = value.items() {
        run.budget.items(items.values.len())?;
        return Ok(items.values.clone());
    }
    match value {
        Value::Undefined(_) => Ok(Vec::new()),
        Value::Text(text) => {
            run.budget.items(text.len().saturating_mul(2))?;
            let one = |c: &u32| Value::Text(Text::new(vec![*c]));
            Ok(text.chars().iter().map(one).collect())
        }
        Value::Dict(dict) => {
            run.budget.items(dict.len())?;
            Ok(dict.keys())
        }
        Value::Range(range) => {
            run.budget.items(range.len())?;
            Ok((0..range.len()).map(|index| range.at(index)).collect())
        }
        Value::Iterator(_) => {
            let mut items = Vec::new();
            while let Some(item) = next_of(value)? {
                run.budget.items(1)?;
                items.push(item);
            }
            Ok(items)
        }
        Value::Loop(state) => {
            let mut items = Vec::new();
            while let Some(item) = state.advance(run)? {
                run.budget.items(2)?;
                items.push(Value::tuple(vec![item, value.clone()])?);
            }
            Ok(items)
        }
        _ => fail!("'{}' object is not iterable", value.type_name()),
    }
}

/// Whether `iter(value)` works.
pub fn is_iterable(value: &Value) -> bool {
    value.items().is_some()
        || matches!(
            value,
            Value::Undefined(_)
                | Value::Text(_)
                | Value::Dict(_)
                | Value::Range(_)
                | Value::Iterator(_)
                | Value::Loop(_)
        )
}

/// The next item of an iterator.
pub fn next_of(value: &Value) -> Result<Option<Value>> {
    let Value::Iterator(iterator) = value else { return Ok(None) };
    if let Some(item) = iterator.items.borrow_mut().pop_front() {
        return Ok(Some(item));
    }
    match iterator.error.borrow_mut().take() {
        Some(error) => Err(error),
        None => Ok(None),
    }
}

/// `len(value)`.
pub fn length(run: &Run, value: &Value) -> Result<usize> {
    if let Some(items) = value.items() {
        return Ok(items.values.len());
    }
    match value {
        Value::Undefined(_) => Ok(0),
        Value::Text(text) => Ok(text.len()),
        Value::Dict(dict) => Ok(dict.len()),
        Value::Range(range) => Ok(range.len()),
        Value::Loop(state) => Ok(state.length(run)? as usize),
        _ => fail!("object of type '{}' has no len()", value.type_name()),
    }
}

/// A stable sort by `<` alone, as Python's: unlike types refuse, and NaNs do no harm.
pub fn sorted<T: Clone>(
    run: &Run,
    mut items: Vec<T>,
    key: &dyn Fn(&T) -> Value,
    reverse: bool,
) -> Result<Vec<T>> {
    if reverse {
        items.reverse();
    }
    let keys: Vec<Value> = items.iter().map(key).collect();
    let mut order: Vec<usize> = (0..items.len()).collect();
    let mut width = 1;
    while width < order.len() {
        let mut merged = Vec::with_capacity(order.len());
        for pair in order.chunks(2 * width) {
            let (left, right) = pair.split_at(width.min(pair.len()));
            merge(run, &keys, left, right, &mut merged)?;
        }
        order = merged;
        width *= 2;
    }
    let mut result: Vec<T> = order.into_iter().map(|at| items[at].clone()).collect();
    if reverse {
        result.reverse();
    }
    Ok(result)
}

fn merge(
    run: &Run,
    keys: &[Value],
    mut left: &[usize],
    mut right: &[usize],
    merged: &mut Vec<usize>,
) -> Result<()> {
    while let (Some(a), Some(b)) = (left.first(), right.first()) {
        run.budget.steps(1 + keys[*a].weight().min(keys[*b].weight()) / 8)?;
        let right_first = ordering(run, &keys[*b], &keys[*a], "<")?.is_some_and(|o| o.is_lt());
        if right_first {
            merged.push(*b);
            right = &right[1..];
        } else {
            merged.push(*a);
            left = &left[1..];
        }
    }
    merged.extend_from_slice(left);
    merged.extend_from_slice(right);
    Ok(())
}
