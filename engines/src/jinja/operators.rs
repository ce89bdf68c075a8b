//! Arithmetic and comparisons.

use super::ast::{Comparison, Operator, Sign};
use super::error::{fail, Result};
use super::percent::percent_format;
use super::run::Run;
use super::sequences::{iterate, next_of};
use super::text::{code, find, Text};
use super::text_filters::escaped;
use super::value::{int_is_float, Items, Value, View};
use std::cmp::Ordering;
use std::rc::Rc;

/// The error of whatever needs the value of an undefined one.
pub fn refuse_undefined(values: &[&Value]) -> Result<()> {
    for value in values {
        if let Value::Undefined(why) = value {
            return fail!("{why}");
        }
    }
    Ok(())
}

pub fn unary(sign: Sign, value: &Value) -> Result<Value> {
    refuse_undefined(&[value])?;
    let minus = sign == Sign::Minus;
    match (value.as_int(), value) {
        (Some(int), _) if minus => checked(int.checked_neg()),
        (Some(int), _) => Ok(Value::Int(int)),
        (None, Value::Float(float)) => Ok(Value::Float(if minus { -float } else { *float })),
        _ => fail!("bad operand type for unary operator: '{}'", value.type_name()),
    }
}

fn checked(value: Option<i128>) -> Result<Value> {
    match value {
        Some(value) => Ok(Value::Int(value)),
        None => fail!("an integer larger than 127 bits"),
    }
}

fn symbol(operator: Operator) -> &'static str {
    match operator {
        Operator::Add => "+",
        Operator::Subtract => "-",
        Operator::Multiply => "*",
        Operator::Divide => "/",
        Operator::FloorDivide => "//",
        Operator::Modulo => "%",
        Operator::Power => "**",
    }
}

pub fn binary(run: &Run, operator: Operator, left: &Value, right: &Value) -> Result<Value> {
    if let (Operator::Modulo, Value::Text(format)) = (operator, left) {
        return percent_format(run, format, right);
    }
    refuse_undefined(&[left, right])?;
    if left.is_number() && right.is_number() {
        return match (left.as_int(), right.as_int()) {
            (Some(a), Some(b)) => of_ints(operator, a, b),
            _ => {
                let (a, b) = (left.as_float().unwrap_or(0.0), right.as_float().unwrap_or(0.0));
                of_floats(operator, a, b)
            }
        };
    }
    match (operator, left, right) {
        (Operator::Add, Value::Text(a), Value::Text(b)) => joined(run, a, b),
        (Operator::Add, Value::List(a), Value::List(b)) => Ok(Value::List(added(run, a, b)?)),
        (Operator::Add, Value::Tuple(a) | Value::Group(a), Value::Tuple(b) | Value::Group(b)) => {
            Ok(Value::Tuple(added(run, a, b)?))
        }
        (Operator::Multiply, sequence, count) | (Operator::Multiply, count, sequence)
            if count.as_int().is_some() && is_repeatable(sequence) =>
        {
            repeated(run, sequence, count.as_int().unwrap_or(0))
        }
        _ => fail!(
            "unsupported operand type(s) for {}: '{}' and '{}'",
            symbol(operator),
            left.type_name(),
            right.type_name()
        ),
    }
}

fn joined(run: &Run, a: &Text, b: &Text) -> Result<Value> {
    let markup = a.markup || b.markup;
    let escape = |text: &Text| if markup { escaped(run, text) } else { Ok(text.clone()) };
    let (a, b) = (escape(a)?, escape(b)?);
    run.budget.characters(a.len() + b.len())?;
    let mut text = Text::new([a.chars(), b.chars()].concat());
    text.markup = markup;
    Ok(Value::Text(text))
}

fn added(run: &Run, a: &Items, b: &Items) -> Result<Rc<Items>> {
    run.budget.items(a.values.len() + b.values.len())?;
    Items::new(a.values.iter().chain(&b.values).cloned().collect())
}

fn is_repeatable(value: &Value) -> bool {
    matches!(value, Value::Text(_) | Value::List(_) | Value::Tuple(_) | Value::Group(_))
}

fn repeated(run: &Run, sequence: &Value, count: i128) -> Result<Value> {
    let count = usize::try_from(count.max(0)).unwrap_or(usize::MAX);
    match sequence {
        Value::Text(text) => {
            run.budget.characters(text.len().saturating_mul(count))?;
            let count = if text.is_empty() { 0 } else { count };
            let mut made = Text::new(text.chars().repeat(count));
            made.markup = text.markup;
            Ok(Value::Text(made))
        }
        _ => {
            let Some(items) = sequence.items() else { return fail!("not a sequence") };
            run.budget.items(items.values.len().saturating_mul(count))?;
            let count = if items.values.is_empty() { 0 } else { count };
            let mut values = Vec::with_capacity(items.values.len() * count);
            for _ in 0..count {
                values.extend(items.values.iter().cloned());
            }
            if matches!(sequence, Value::List(_)) {
                Value::list(values)
            } else {
                Value::tuple(values)
            }
        }
    }
}

fn of_ints(operator: Operator, a: i128, b: i128) -> Result<Value> {
    match operator {
        Operator::Add => checked(a.checked_add(b)),
        Operator::Subtract => checked(a.checked_sub(b)),
        Operator::Multiply => checked(a.checked_mul(b)),
        Operator::Divide if b == 0 => fail!("division by zero"),
        Operator::FloorDivide | Operator::Modulo if b == 0 => {
            fail!("integer division or modulo by zero")
        }
        Operator::Divide => Ok(Value::Float(a as f64 / b as f64)),
        Operator::FloorDivide => {
            let Some(quotient) = a.checked_div(b) else { return checked(None) };
            let inexact = a % b != 0 && (a < 0) != (b < 0);
            Ok(Value::Int(quotient - i128::from(inexact)))
        }
        Operator::Modulo => {
            let rest = a.checked_rem(b).unwrap_or(0);
            Ok(Value::Int(if rest != 0 && (rest < 0) != (b < 0) { rest + b } else { rest }))
        }
        Operator::Power if b < 0 => of_floats(operator, a as f64, b as f64),
        Operator::Power => match (a, u32::try_from(b)) {
            (0 | 1, _) => Ok(Value::Int(if b == 0 { 1 } else { a })),
            (-1, _) => Ok(Value::Int(if b % 2 == 0 { 1 } else { -1 })),
            (_, Ok(exponent)) => checked(a.checked_pow(exponent)),
            _ => checked(None),
        },
    }
}

fn of_floats(operator: Operator, a: f64, b: f64) -> Result<Value> {
    let by_zero = || fail!("float division by zero");
    Ok(Value::Float(match operator {
        Operator::Add => a + b,
        Operator::Subtract => a - b,
        Operator::Multiply => a * b,
        Operator::Divide if b == 0.0 => return by_zero(),
        Operator::Divide => a / b,
        Operator::FloorDivide | Operator::Modulo if b == 0.0 => return by_zero(),
        Operator::Modulo => float_divmod(a, b).1,
        Operator::FloorDivide => float_divmod(a, b).0,
        Operator::Power => {
            if a == 0.0 && b < 0.0 {
                return fail!("0.0 cannot be raised to a negative power");
            }
            if a < 0.0 && b.fract() != 0.0 && b.is_finite() {
                return fail!("complex numbers are not supported");
            }
            let power = a.powf(b);
            if power.is_infinite() && a.is_finite() && b.is_finite() {
                return fail!("the result of ** is too large for a float");
            }
            power
        }
    }))
}

/// Quotient and remainder as CPython computes them: the remainder has the divisor's sign.
fn float_divmod(a: f64, b: f64) -> (f64, f64) {
    let mut rest = a % b;
    let mut quotient = (a - rest) / b;
    if rest != 0.0 {
        if (b < 0.0) != (rest < 0.0) {
            rest += b;
            quotient -= 1.0;
        }
    } else {
        rest = 0.0_f64.copysign(b);
    }
    let floor = if quotient != 0.0 {
        let floor = quotient.floor();
        if quotient - floor > 0.5 {
            floor + 1.0
        } else {
            floor
        }
    } else {
        0.0_f64.copysign(a / b)
    };
    (floor, rest)
}

pub fn compare(run: &Run, comparison: Comparison, left: &Value, right: &Value) -> Result<bool> {
    run.budget.steps(left.weight().min(right.weight()) / 2)?;
    let order = |wanted: fn(Ordering) -> bool, operator: &str| -> Result<bool> {
        Ok(ordering(run, left, right, operator)?.is_some_and(wanted))
    };
    match comparison {
        Comparison::Equal => Ok(left.equals(right)),
        Comparison::NotEqual => Ok(!left.equals(right)),
        Comparison::Less => order(Ordering::is_lt, "<"),
        Comparison::LessOrEqual => order(Ordering::is_le, "<="),
        Comparison::Greater => order(Ordering::is_gt, ">"),
        Comparison::GreaterOrEqual => order(Ordering::is_ge, ">="),
        Comparison::In => contains(run, left, right),
        Comparison::NotIn => Ok(!contains(run, left, right)?),
    }
}

/// How two values are ordered; `None` if a NaN takes part. Values of unlike types have no order.
pub fn ordering(run: &Run, a: &Value, b: &Value, operator: &str) -> Result<Option<Ordering>> {
    refuse_undefined(&[a, b])?;
    match (a, b) {
        (Value::Text(a), Value::Text(b)) => {
            run.budget.look(a.len().min(b.len()))?;
            let (a, b) = (a.chars().iter(), b.chars().iter());
            Ok(Some(a.map(|c| code(*c)).cmp(b.map(|c| code(*c)))))
        }
        (Value::List(a), Value::List(b)) => items_ordering(run, a, b, operator),
        (Value::Tuple(a) | Value::Group(a), Value::Tuple(b) | Value::Group(b)) => {
            items_ordering(run, a, b, operator)
        }
        _ if a.is_number() && b.is_number() => Ok(number_ordering(a, b)),
        _ => fail!(
            "'{operator}' not supported between instances of '{}' and '{}'",
            a.type_name(),
            b.type_name()
        ),
    }
}

fn number_ordering(a: &Value, b: &Value) -> Option<Ordering> {
    match (a.as_int(), b.as_int()) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        (Some(int), None) => int_float_ordering(int, b.as_float()?),
        (None, Some(int)) => int_float_ordering(int, a.as_float()?).map(Ordering::reverse),
        (None, None) => a.as_float()?.partial_cmp(&b.as_float()?),
    }
}

/// Exact also for integers that no float holds.
fn int_float_ordering(int: i128, float: f64) -> Option<Ordering> {
    if int_is_float(int, float) {
        return Some(Ordering::Equal);
    }
    if float.is_finite() && float.abs() < 1e38 && int.unsigned_abs() > 1 << 53 {
        let by_whole = int.cmp(&(float.floor() as i128));
        return Some(if by_whole.is_eq() { Ordering::Less } else { by_whole });
    }
    (int as f64).partial_cmp(&float)
}

fn items_ordering(run: &Run, a: &Items, b: &Items, operator: &str) -> Result<Option<Ordering>> {
    for (x, y) in a.values.iter().zip(&b.values) {
        run.budget.step()?;
        if !x.equals(y) {
            return ordering(run, x, y, operator);
        }
    }
    Ok(Some(a.values.len().cmp(&b.values.len())))
}

/// Python's `value in container`.
pub fn contains(run: &Run, value: &Value, container: &Value) -> Result<bool> {
    match (container, value) {
        (Value::Text(text), Value::Text(part)) => {
            Ok(find(&run.budget, text.chars(), part.chars(), 0)?.is_some())
        }
        (Value::Text(_), _) => {
            fail!("'in <string>' requires string as left operand, not {}", value.type_name())
        }
        (Value::Dict(dict), _) => {
            run.budget.steps(value.weight())?;
            Ok(dict.get(value)?.is_some())
        }
        (Value::View(View::Keys, _), _) => {
            value.hash()?;
            in_items(run, value, &iterate(run, container)?)
        }
        (Value::Range(range), _) => match value.as_int() {
            Some(int) => {
                let offset = int - range.start;
                let index = offset / range.step;
                Ok(offset % range.step == 0 && index >= 0 && index < range.len() as i128)
            }
            None => in_items(run, value, &iterate(run, container)?),
        },
        (Value::Iterator(_), _) => {
            while let Some(item) = next_of(container)? {
                run.budget.step()?;
                if item.equals(value) {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        _ => match container.items() {
            Some(items) => in_items(run, value, &items.values),
            None => in_items(run, value, &iterate(run, container)?),
        },
    }
}

fn in_items(run: &Run, value: &Value, items: &[Value]) -> Result<bool> {
    for item in items {
        run.budget.steps(1 + item.weight().min(value.weight()) / 2)?;
        if item.equals(value) {
            return Ok(true);
        }
    }
    Ok(false)
}
