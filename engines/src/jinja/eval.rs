//! Expressions.

use super::ast::*;
use super::attributes::{get_attribute, get_item};
use super::calls;
use super::error::{fail, Result};
use super::operators::{self, compare};
use super::print::str_of;
use super::run::{CallArguments, Frame, Run};
use super::sequences::iterate;
use super::text::{Char, Text};
use super::value::{Dict, Items, Value};
use super::{filters, globals, tests};
use std::rc::Rc;

impl Run<'_> {
    pub fn eval(&self, expression: &Expression, frame: &Rc<Frame>) -> Result<Value> {
        self.budget.step()?;
        self.budget
            .nested(|| self.eval_here(expression, frame))
            .map_err(|error| error.or_line(expression.line))
    }

    fn eval_all(&self, expressions: &[Expression], frame: &Rc<Frame>) -> Result<Vec<Value>> {
        self.budget.items(expressions.len())?;
        expressions.iter().map(|each| self.eval(each, frame)).collect()
    }

    fn eval_here(&self, expression: &Expression, frame: &Rc<Frame>) -> Result<Value> {
        match &expression.kind {
            Kind::Constant(constant) => Ok(constant_value(constant)),
            Kind::Name(name) => Ok(self.variable(*name, frame)),
            Kind::List(items) => Value::list(self.eval_all(items, frame)?),
            Kind::Tuple(items) => Value::tuple(self.eval_all(items, frame)?),
            Kind::Dict(pairs) => self.dict(pairs, frame),
            Kind::Body => match self.bodies.borrow().last() {
                Some(body) => Ok(body.clone()),
                None => fail!("a filter without a value"),
            },
            Kind::Not(value) => Ok(Value::Bool(!self.eval(value, frame)?.is_true())),
            Kind::And(left, right) => {
                let left = self.eval(left, frame)?;
                if left.is_true() {
                    self.eval(right, frame)
                } else {
                    Ok(left)
                }
            }
            Kind::Or(left, right) => {
                let left = self.eval(left, frame)?;
                if left.is_true() {
                    Ok(left)
                } else {
                    self.eval(right, frame)
                }
            }
            Kind::If { test, then, otherwise } => {
                match (self.eval(test, frame)?.is_true(), otherwise) {
                    (true, _) => self.eval(then, frame),
                    (false, Some(otherwise)) => self.eval(otherwise, frame),
                    (false, None) => Ok(Value::undefined(format!(
                    "the inline if-expression on line {} evaluated to false and no else section \
                     was defined",
                    expression.line
                ))),
                }
            }
            Kind::Compare(first, rest) => self.comparison(first, rest, frame),
            Kind::Unary(sign, value) => operators::unary(*sign, &self.eval(value, frame)?),
            Kind::Binary(operator, left, right) => {
                let left = self.eval(left, frame)?;
                let right = self.eval(right, frame)?;
                operators::binary(self, *operator, &left, &right)
            }
            Kind::Concat(parts) => self.concat(parts, frame),
            Kind::Attribute(..) | Kind::Item(..) | Kind::Slice(_) | Kind::Call(..) => {
                self.eval_access(expression, frame)
            }
            Kind::Filter(value, name, arguments) => {
                let value = self.eval(value, frame)?;
                let arguments = self.arguments(arguments, frame)?;
                filters::apply(self, name, value, arguments)
            }
            Kind::Test(value, name, arguments) => {
                let value = self.eval(value, frame)?;
                let arguments = self.arguments(arguments, frame)?;
                tests::apply(self, name, &value, arguments)
            }
        }
    }

    /// Attributes, items, slices and calls.
    fn eval_access(&self, expression: &Expression, frame: &Rc<Frame>) -> Result<Value> {
        match &expression.kind {
            Kind::Attribute(value, name) => {
                let value = self.eval(value, frame)?;
                get_attribute(self, &value, name)
            }
            Kind::Item(value, index) => {
                // Jinja folds constants with a subscript that does not raise.
                let is_folded = value.is_constant() && index.is_constant();
                let value = self.eval(value, frame)?;
                let index = self.eval(index, frame)?;
                match get_item(self, &value, &index) {
                    Err(error) if is_folded => Ok(Value::undefined(error.message)),
                    found => found,
                }
            }
            Kind::Slice(parts) => {
                let mut values = Vec::new();
                for part in parts.iter() {
                    values.push(match part {
                        Some(part) => self.eval(part, frame)?,
                        None => Value::None,
                    });
                }
                Ok(Value::Slice(Items::new(values)?))
            }
            _ => self.eval_call(expression, None, frame),
        }
    }

    fn variable(&self, name: Symbol, frame: &Rc<Frame>) -> Value {
        if let Some(value) = frame.get(name) {
            return value;
        }
        let text = self.name(name);
        globals::find(text).unwrap_or_else(|| Value::undefined(format!("'{text}' is undefined")))
    }

    fn dict(&self, pairs: &[(Expression, Expression)], frame: &Rc<Frame>) -> Result<Value> {
        self.budget.items(pairs.len() * 3)?;
        let mut dict = Dict::from_pairs([])?;
        for (key, value) in pairs {
            let key = self.eval(key, frame)?;
            self.budget.steps(key.weight())?;
            dict.insert(key, self.eval(value, frame)?)?;
        }
        Ok(Value::Dict(Rc::new(dict)))
    }

    fn comparison(
        &self,
        first: &Expression,
        rest: &[(Comparison, Expression)],
        frame: &Rc<Frame>,
    ) -> Result<Value> {
        let mut left = self.eval(first, frame)?;
        for (comparison, right) in rest {
            let right = self.eval(right, frame)?;
            if !compare(self, *comparison, &left, &right)? {
                return Ok(Value::Bool(false));
            }
            left = right;
        }
        Ok(Value::Bool(true))
    }

    fn concat(&self, parts: &[Expression], frame: &Rc<Frame>) -> Result<Value> {
        let mut out: Vec<Char> = Vec::new();
        for part in self.eval_all(parts, frame)? {
            let text = str_of(self, &part)?;
            self.budget.characters(text.len())?;
            out.extend_from_slice(text.chars());
        }
        Ok(Value::Text(Text::new(out)))
    }

    fn arguments(&self, arguments: &Arguments, frame: &Rc<Frame>) -> Result<CallArguments> {
        let mut made = CallArguments {
            positional: self.eval_all(&arguments.positional, frame)?,
            named: Vec::new(),
        };
        for (name, value) in &arguments.named {
            made.named.push((name.clone(), self.eval(value, frame)?));
        }
        if let Some(star) = &arguments.star {
            let more = self.eval(star, frame)?;
            made.positional.extend(iterate(self, &more)?);
        }
        if let Some(star) = &arguments.double_star {
            let Value::Dict(more) = self.eval(star, frame)? else {
                return fail!("the argument after ** must be a mapping");
            };
            for (key, value) in more.entries() {
                let Value::Text(key) = key else { return fail!("keywords must be strings") };
                let name = key.to_plain();
                if made.named.iter().any(|(each, _)| *each == name) {
                    return fail!("got multiple values for keyword argument '{name}'");
                }
                made.named.push((name, value.clone()));
            }
        }
        Ok(made)
    }

    /// A call; `caller` is the body of a call block.
    pub fn eval_call(
        &self,
        expression: &Expression,
        caller: Option<Value>,
        frame: &Rc<Frame>,
    ) -> Result<Value> {
        let Kind::Call(callee, arguments) = &expression.kind else { return fail!("expected call") };
        let callee = self.eval(callee, frame)?;
        let mut arguments = self.arguments(arguments, frame)?;
        if let Some(caller) = caller {
            if arguments.named.iter().any(|(name, _)| name == "caller") {
                return fail!("got multiple values for keyword argument 'caller'");
            }
            arguments.named.push(("caller".to_owned(), caller));
        }
        self.call(&callee, arguments).map_err(|error| error.or_line(expression.line))
    }

    pub fn call(&self, callee: &Value, arguments: CallArguments) -> Result<Value> {
        self.budget.step()?;
        self.budget.nested(|| calls::call(self, callee, arguments))
    }
}

fn constant_value(constant: &Constant) -> Value {
    match constant {
        Constant::None => Value::None,
        Constant::Bool(value) => Value::Bool(*value),
        Constant::Int(value) => Value::Int(*value),
        Constant::Float(value) => Value::Float(*value),
        Constant::Text(text) => Value::Text(text.clone()),
    }
}
