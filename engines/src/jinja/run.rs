//! One rendering: its variables, its limits and its statements.

use super::ast::*;
use super::budget::Budget;
use super::error::{fail, Result};
use super::print::str_of;
use super::sequences::{iterate, next_of};
use super::text::{Char, Text};
use super::value::*;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

/// The variables of one scope. A name is looked up from the innermost scope outwards.
pub struct Frame {
    variables: RefCell<Vec<(Symbol, Value)>>,
    parent: Option<Rc<Frame>>,
}

impl Frame {
    pub fn new(parent: Option<&Rc<Frame>>) -> Rc<Frame> {
        Rc::new(Frame { variables: RefCell::new(Vec::new()), parent: parent.cloned() })
    }
    pub fn set(&self, name: Symbol, value: Value) {
        let mut variables = self.variables.borrow_mut();
        match variables.iter_mut().find(|(each, _)| *each == name) {
            Some((_, place)) => *place = value,
            None => variables.push((name, value)),
        }
    }
    pub fn get(&self, name: Symbol) -> Option<Value> {
        let mut frame = Some(self);
        while let Some(here) = frame {
            if let Some((_, value)) = here.variables.borrow().iter().find(|(each, _)| *each == name)
            {
                return Some(value.clone());
            }
            frame = here.parent.as_deref();
        }
        None
    }
    /// A scope that holds only what the outermost ones have: the template's and the request's.
    fn outermost(self: &Rc<Frame>) -> Rc<Frame> {
        let mut frame = self.clone();
        while let Some(parent) = frame.parent.clone() {
            if parent.parent.is_none() {
                break;
            }
            frame = parent;
        }
        frame
    }
}

#[derive(Clone, Copy, PartialEq)]
pub enum Flow {
    Normal,
    Break,
    Continue,
}

pub struct Run<'p> {
    pub program: &'p Program,
    pub budget: Budget,
    pub now_unix_seconds: i64,
    /// Objects that can hold themselves: they are emptied at the end, so that nothing stays
    /// allocated.
    frames: RefCell<Vec<Rc<Frame>>>,
    namespaces: RefCell<Vec<Rc<Namespace>>>,
    /// The bodies of filter blocks that are being filtered.
    pub bodies: RefCell<Vec<Value>>,
}

impl Drop for Run<'_> {
    fn drop(&mut self) {
        for namespace in self.namespaces.borrow().iter() {
            namespace.entries.take();
        }
        for frame in self.frames.borrow().iter() {
            frame.variables.take();
        }
    }
}

impl<'p> Run<'p> {
    pub fn new(program: &'p Program, now_unix_seconds: i64) -> Self {
        Run {
            program,
            budget: Budget::default(),
            now_unix_seconds,
            frames: RefCell::default(),
            namespaces: RefCell::default(),
            bodies: RefCell::default(),
        }
    }

    pub fn name(&self, symbol: Symbol) -> &'p str {
        &self.program.names[symbol as usize]
    }

    pub fn namespace(&self, entries: Dict) -> Value {
        let made = Rc::new(Namespace { entries: RefCell::new(entries) });
        self.namespaces.borrow_mut().push(made.clone());
        Value::Namespace(made)
    }

    /// A frame that a macro or a loop keeps: it may hold what keeps it.
    fn keep(&self, frame: &Rc<Frame>) {
        let mut frames = self.frames.borrow_mut();
        if !frames.last().is_some_and(|last| Rc::ptr_eq(last, frame)) {
            frames.push(frame.clone());
        }
    }

    fn put(&self, out: &mut Vec<Char>, text: &Text) -> Result<()> {
        self.budget.characters(text.len())?;
        out.extend_from_slice(text.chars());
        Ok(())
    }

    pub fn statements(
        &self,
        body: &[Statement],
        frame: &Rc<Frame>,
        out: &mut Vec<Char>,
    ) -> Result<Flow> {
        self.budget.nested(|| {
            for statement in body {
                let flow = self
                    .statement(statement, frame, out)
                    .map_err(|error| error.or_line(statement.line))?;
                if flow != Flow::Normal {
                    return Ok(flow);
                }
            }
            Ok(Flow::Normal)
        })
    }

    /// The statements of a scope in the frame that was made for it.
    pub fn scope(&self, scope: &Scope, frame: &Rc<Frame>, out: &mut Vec<Char>) -> Result<Flow> {
        for name in scope.hides.get().into_iter().flatten() {
            let why = format!("'{}' is undefined", self.name(*name));
            frame.set(*name, Value::undefined(why));
        }
        self.statements(&scope.body, frame, out)
    }

    fn statement(
        &self,
        statement: &Statement,
        frame: &Rc<Frame>,
        out: &mut Vec<Char>,
    ) -> Result<Flow> {
        self.budget.step()?;
        match &statement.kind {
            StatementKind::Data(text) => self.put(out, text)?,
            StatementKind::Print(values) => {
                for value in values {
                    let value = self.eval(value, frame)?;
                    self.put(out, &str_of(self, &value)?)?;
                }
            }
            StatementKind::If { branches, otherwise } => {
                for (test, body) in branches {
                    if self.eval(test, frame)?.is_true() {
                        return self.statements(body, frame, out);
                    }
                }
                return self.statements(otherwise, frame, out);
            }
            StatementKind::For(source) => {
                let items = self.eval(&source.items, frame)?;
                self.for_loop(source, items, frame, 0, out)?;
            }
            StatementKind::Set { target, value } => {
                let value = self.eval(value, frame)?;
                self.assign(target, value, frame)?;
            }
            StatementKind::Break => return Ok(Flow::Break),
            StatementKind::Continue => return Ok(Flow::Continue),
            StatementKind::Refused(why) => return fail!("{why}"),
            _ => return self.scoped_statement(statement, frame, out),
        }
        Ok(Flow::Normal)
    }

    /// The statements whose body has a scope of its own.
    fn scoped_statement(
        &self,
        statement: &Statement,
        frame: &Rc<Frame>,
        out: &mut Vec<Char>,
    ) -> Result<Flow> {
        match &statement.kind {
            StatementKind::SetBlock { target, filter, scope } => {
                let mut value = Value::Text(self.body_text(scope, frame)?);
                if let Some(filter) = filter {
                    value = self.filtered(filter, value, frame)?;
                }
                self.assign(target, value, frame)?;
            }
            StatementKind::With { bindings, scope } => {
                let inner = Frame::new(Some(frame));
                for (target, value) in bindings {
                    let value = self.eval(value, frame)?;
                    self.assign(target, value, &inner)?;
                }
                return self.scope(scope, &inner, out);
            }
            StatementKind::Macro(body) => {
                frame.set(body.symbol, self.macro_of(body, frame));
            }
            StatementKind::CallBlock { call, caller } => {
                let caller = self.macro_of(caller, frame);
                let value = self.eval_call(call, Some(caller), frame)?;
                self.put(out, &str_of(self, &value)?)?;
            }
            StatementKind::Generation(body) => {
                let made = self.macro_of(body, frame);
                let value = self.call(&made, CallArguments::default())?;
                self.put(out, &str_of(self, &value)?)?;
            }
            StatementKind::FilterBlock { filter, scope } => {
                let text = Value::Text(self.body_text(scope, frame)?);
                let value = self.filtered(filter, text, frame)?;
                self.put(out, &str_of(self, &value)?)?;
            }
            StatementKind::Block(scope) => {
                let inner = Frame::new(Some(&frame.outermost()));
                self.scope(scope, &inner, out)?;
            }
            _ => return fail!("a statement of an unknown kind"),
        }
        Ok(Flow::Normal)
    }

    fn body_text(&self, scope: &Scope, frame: &Rc<Frame>) -> Result<Text> {
        let mut text = Vec::new();
        self.scope(scope, &Frame::new(Some(frame)), &mut text)?;
        Ok(Text::new(text))
    }

    fn filtered(&self, filter: &Expression, body: Value, frame: &Rc<Frame>) -> Result<Value> {
        self.bodies.borrow_mut().push(body);
        let value = self.eval(filter, frame);
        self.bodies.borrow_mut().pop();
        value
    }

    fn macro_of(&self, body: &Arc<MacroBody>, frame: &Rc<Frame>) -> Value {
        self.keep(frame);
        Value::Macro(Rc::new(Macro { body: body.clone(), frame: frame.clone() }))
    }

    pub fn assign(&self, target: &Target, value: Value, frame: &Rc<Frame>) -> Result<()> {
        match target {
            Target::Name(name) => frame.set(*name, value),
            Target::Attribute(name, attribute) => match frame.get(*name) {
                Some(Value::Namespace(namespace)) => {
                    check_namespace_name(attribute)?;
                    namespace.entries.borrow_mut().insert(Value::text(attribute), value)?;
                }
                _ => return fail!("cannot assign attribute on non-namespace object"),
            },
            Target::Tuple(targets) => {
                let values = iterate(self, &value)?;
                if values.len() != targets.len() {
                    let (wanted, got) = (targets.len(), values.len());
                    return fail!("cannot unpack {got} values to {wanted} names");
                }
                for (target, value) in targets.iter().zip(values) {
                    self.assign(target, value, frame)?;
                }
            }
        }
        Ok(())
    }

    pub fn for_loop(
        &self,
        source: &Arc<For>,
        items: Value,
        frame: &Rc<Frame>,
        depth0: usize,
        out: &mut Vec<Char>,
    ) -> Result<()> {
        let state = Rc::new(LoopState::new(self, source.clone(), frame, items, depth0)?);
        let mut completed = false;
        while let Some(value) = state.advance(self)? {
            self.budget.step()?;
            let inner = Frame::new(Some(frame));
            inner.set(source.loop_name, Value::Loop(state.clone()));
            self.assign(&source.target, value, &inner)?;
            match self.scope(&source.scope, &inner, out)? {
                Flow::Break => break,
                Flow::Continue => {}
                Flow::Normal => completed = true,
            }
        }
        // Jinja's own rule: an iteration that `continue` or `break` ends does not count.
        if !completed && !source.otherwise.body.is_empty() {
            self.scope(&source.otherwise, &Frame::new(Some(frame)), out)?;
        }
        Ok(())
    }

    pub fn call_macro(&self, object: &Macro, arguments: CallArguments) -> Result<Value> {
        let body = &object.body;
        let frame = Frame::new(Some(&object.frame));
        let CallArguments { positional, mut named } = arguments;
        let mut values: VecDeque<Value> = positional.into();
        let name = &body.name;
        let is_short = values.len() < body.parameters.len();
        let mut found_caller = body.explicit_caller && !is_short;
        for (symbol, default) in &body.parameters {
            let given = values.pop_front().or_else(|| {
                let at = named.iter().position(|(each, _)| each == self.name(*symbol))?;
                is_short.then(|| named.remove(at).1)
            });
            found_caller |= is_short && self.name(*symbol) == "caller";
            let value = match (given, default) {
                (Some(value), _) => value,
                (None, Some(default)) => self.eval(default, &frame)?,
                (None, None) => {
                    Value::undefined(format!("parameter '{}' was not provided", self.name(*symbol)))
                }
            };
            frame.set(*symbol, value);
        }
        if let Some(caller) = body.caller.filter(|_| !found_caller) {
            let at = named.iter().position(|(each, _)| each == "caller");
            let value = at.map(|at| named.remove(at).1);
            frame.set(caller, value.unwrap_or_else(|| Value::undefined("No caller defined")));
        }
        if let Some(kwargs) = body.kwargs {
            let pairs = named.into_iter().map(|(name, value)| (Value::text(&name), value));
            frame.set(kwargs, Value::Dict(Rc::new(Dict::from_pairs(pairs)?)));
        } else if let Some((unknown, _)) = named.first() {
            return fail!("macro '{name}' takes no keyword argument '{unknown}'");
        }
        if let Some(varargs) = body.varargs {
            frame.set(varargs, Value::tuple(values.into())?);
        } else if !values.is_empty() {
            let count = body.parameters.len();
            return fail!("macro '{name}' takes not more than {count} argument(s)");
        }
        let mut text = Vec::new();
        self.scope(&body.scope, &frame, &mut text)?;
        Ok(Value::Text(Text::new(text)))
    }
}

pub fn check_namespace_name(name: &str) -> Result<()> {
    if name.starts_with('_') {
        return fail!("a namespace cannot hold the underscore-prefixed attribute '{name}'");
    }
    Ok(())
}

#[derive(Default)]
pub struct CallArguments {
    pub positional: Vec<Value>,
    pub named: Vec<(String, Value)>,
}

/// The value of `loop` in the body of a `for`. Items are taken one by one, because a test that
/// filters them may depend on what the body has done so far.
pub struct LoopState {
    source: Arc<For>,
    frame: Rc<Frame>,
    upstream: Value,
    at: Cell<usize>,
    ahead: RefCell<VecDeque<Value>>,
    pub index0: Cell<i64>,
    pub depth0: usize,
    current: RefCell<Option<Value>>,
    pub previous: RefCell<Option<Value>>,
    pub changed: RefCell<Option<Value>>,
}

impl LoopState {
    fn new(
        run: &Run,
        source: Arc<For>,
        frame: &Rc<Frame>,
        items: Value,
        depth0: usize,
    ) -> Result<LoopState> {
        let upstream = match items {
            Value::Iterator(_) => items,
            other => Value::list(iterate(run, &other)?)?,
        };
        if source.recursive {
            run.keep(frame);
        }
        Ok(LoopState {
            source,
            frame: frame.clone(),
            upstream,
            at: Cell::new(0),
            ahead: RefCell::default(),
            index0: Cell::new(-1),
            depth0,
            current: RefCell::default(),
            previous: RefCell::default(),
            changed: RefCell::default(),
        })
    }

    /// The next item that passes the test.
    fn pull(&self, run: &Run) -> Result<Option<Value>> {
        loop {
            let at = self.at.get();
            self.at.set(at + 1);
            let next = match &self.upstream {
                Value::List(items) => items.values.get(at).cloned(),
                iterator => next_of(iterator)?,
            };
            let (Some(value), Some(test)) = (&next, &self.source.test) else { return Ok(next) };
            run.budget.step()?;
            let frame = Frame::new(Some(&self.frame));
            run.assign(&self.source.target, value.clone(), &frame)?;
            if run.eval(test, &frame)?.is_true() {
                return rebuilt(&self.source.target, &frame).map(Some);
            }
        }
    }

    /// The next item; `loop` then speaks of it.
    pub fn advance(&self, run: &Run) -> Result<Option<Value>> {
        let ahead = self.ahead.borrow_mut().pop_front();
        let next = if ahead.is_some() { ahead } else { self.pull(run)? };
        if let Some(value) = &next {
            self.index0.set(self.index0.get() + 1);
            *self.previous.borrow_mut() = self.current.borrow_mut().replace(value.clone());
        }
        Ok(next)
    }

    pub fn peek(&self, run: &Run) -> Result<Option<Value>> {
        if self.ahead.borrow().is_empty() {
            if let Some(value) = self.pull(run)? {
                self.ahead.borrow_mut().push_back(value);
            }
        }
        Ok(self.ahead.borrow().front().cloned())
    }

    pub fn length(&self, run: &Run) -> Result<i64> {
        while let Some(value) = self.pull(run)? {
            self.ahead.borrow_mut().push_back(value);
        }
        Ok(self.index0.get() + 1 + self.ahead.borrow().len() as i64)
    }

    /// `loop(items)`: the loop again, one level deeper.
    pub fn recurse(&self, run: &Run, items: Value) -> Result<Value> {
        if !self.source.recursive {
            return fail!("The loop must have the 'recursive' marker to be called recursively.");
        }
        let mut out = Vec::new();
        run.budget
            .nested(|| run.for_loop(&self.source, items, &self.frame, self.depth0 + 1, &mut out))?;
        Ok(Value::Text(Text::new(out)))
    }
}

/// The item as Jinja's own filter yields it: a tuple of what the names were given.
fn rebuilt(target: &Target, frame: &Frame) -> Result<Value> {
    match target {
        Target::Name(name) => Ok(frame.get(*name).unwrap_or(Value::None)),
        Target::Attribute(..) => Ok(Value::None),
        Target::Tuple(targets) => {
            let parts = targets.iter().map(|target| rebuilt(target, frame));
            Value::tuple(parts.collect::<Result<Vec<_>>>()?)
        }
    }
}
