//! Finds the names that a scope hides from the scopes within it, as Jinja's compiler does.
//!
//! A name that a scope sets before it reads it is the scope's own from the beginning: until it is
//! set, it is undefined, even if the request gives a variable of that name. A name that the scope
//! reads first, or sets only within `if`, has the value from outside until then.

use super::ast::*;
use std::collections::HashSet;

/// Notes in each scope of `program` what it hides.
pub fn mark(program: &Program) {
    visit_scope(&program.scope, &[], &[], &HashSet::new());
}

#[derive(Default)]
struct Names {
    known: HashSet<Symbol>,
    hidden: Vec<Symbol>,
    within_if: bool,
}

/// `parameters` are set when the scope begins; `first` is read before its body.
fn visit_scope(
    scope: &Scope,
    parameters: &[Symbol],
    first: &[&Expression],
    outer: &HashSet<Symbol>,
) {
    let mut names = Names::default();
    names.known.extend(parameters);
    first.iter().for_each(|expression| names.read(expression));
    names.statements(&scope.body, outer);
    let hidden = std::mem::take(&mut names.hidden);
    let _ = scope.hides.set(hidden);
    let inner: HashSet<Symbol> = outer.union(&names.known).copied().collect();
    scope.body.iter().for_each(|statement| visit_inner(statement, &inner));
}

/// The scopes within a statement.
fn visit_inner(statement: &Statement, outer: &HashSet<Symbol>) {
    match &statement.kind {
        StatementKind::If { branches, otherwise } => {
            let bodies = branches.iter().map(|(_, body)| body).chain([otherwise]);
            bodies.flatten().for_each(|statement| visit_inner(statement, outer));
        }
        StatementKind::For(each) => {
            let mut parameters = vec![each.loop_name];
            each.target.add_names(&mut parameters);
            visit_scope(&each.scope, &parameters, &[], outer);
            visit_scope(&each.otherwise, &[], &[], outer);
        }
        StatementKind::With { bindings, scope } => {
            let mut parameters = Vec::new();
            bindings.iter().for_each(|(target, _)| target.add_names(&mut parameters));
            visit_scope(scope, &parameters, &[], outer);
        }
        StatementKind::Macro(body)
        | StatementKind::Generation(body)
        | StatementKind::CallBlock { caller: body, .. } => {
            let special = [body.caller, body.varargs, body.kwargs];
            let own = body.parameters.iter().map(|(name, _)| *name);
            let parameters: Vec<Symbol> = own.chain(special.into_iter().flatten()).collect();
            let defaults: Vec<&Expression> =
                body.parameters.iter().filter_map(|(_, default)| default.as_ref()).collect();
            visit_scope(&body.scope, &parameters, &defaults, outer);
        }
        StatementKind::SetBlock { scope, .. } | StatementKind::FilterBlock { scope, .. } => {
            visit_scope(scope, &[], &[], outer);
        }
        // A block sees nothing of the scopes around it.
        StatementKind::Block(scope) => visit_scope(scope, &[], &[], &HashSet::new()),
        _ => {}
    }
}

impl Names {
    fn set(&mut self, name: Symbol, outer: &HashSet<Symbol>) {
        let is_new = self.known.insert(name);
        if is_new && !self.within_if && !outer.contains(&name) {
            self.hidden.push(name);
        }
    }

    fn set_target(&mut self, target: &Target, outer: &HashSet<Symbol>) {
        match target {
            Target::Name(name) => self.set(*name, outer),
            Target::Attribute(name, _) => {
                self.known.insert(*name);
            }
            Target::Tuple(targets) => targets.iter().for_each(|each| self.set_target(each, outer)),
        }
    }

    fn statements(&mut self, body: &[Statement], outer: &HashSet<Symbol>) {
        for statement in body {
            match &statement.kind {
                StatementKind::Print(values) => values.iter().for_each(|value| self.read(value)),
                StatementKind::If { branches, otherwise } => {
                    let before = std::mem::replace(&mut self.within_if, true);
                    for (test, body) in branches {
                        self.read(test);
                        self.statements(body, outer);
                    }
                    self.statements(otherwise, outer);
                    self.within_if = before;
                }
                StatementKind::For(each) => self.read(&each.items),
                StatementKind::Set { target, value } => {
                    self.read(value);
                    self.set_target(target, outer);
                }
                StatementKind::SetBlock { target, .. } => self.set_target(target, outer),
                StatementKind::With { bindings, .. } => {
                    bindings.iter().for_each(|(_, value)| self.read(value));
                }
                StatementKind::Macro(body) => self.set(body.symbol, outer),
                StatementKind::CallBlock { call, .. } => self.read(call),
                StatementKind::FilterBlock { filter, .. } => self.read(filter),
                _ => {}
            }
        }
    }

    fn read(&mut self, expression: &Expression) {
        if let Kind::Name(name) = &expression.kind {
            self.known.insert(*name);
        }
        expression.parts(&mut |part| self.read(part));
    }
}

impl Target {
    fn add_names(&self, names: &mut Vec<Symbol>) {
        match self {
            Target::Name(name) => names.push(*name),
            Target::Attribute(..) => {}
            Target::Tuple(targets) => targets.iter().for_each(|target| target.add_names(names)),
        }
    }
}

impl Expression {
    /// Calls `visit` with each expression that stands directly within this one.
    fn parts(&self, visit: &mut dyn FnMut(&Expression)) {
        let mut all = |parts: &[&Expression]| parts.iter().for_each(|part| visit(part));
        match &self.kind {
            Kind::Constant(_) | Kind::Name(_) | Kind::Body => {}
            Kind::List(items) | Kind::Tuple(items) | Kind::Concat(items) => {
                items.iter().for_each(|item| all(&[item]));
            }
            Kind::Dict(pairs) => pairs.iter().for_each(|(key, value)| all(&[key, value])),
            Kind::Not(value) | Kind::Unary(_, value) | Kind::Attribute(value, _) => all(&[value]),
            Kind::And(left, right)
            | Kind::Or(left, right)
            | Kind::Binary(_, left, right)
            | Kind::Item(left, right) => all(&[left, right]),
            Kind::If { test, then, otherwise } => {
                all(&[test, then]);
                otherwise.iter().for_each(|value| all(&[value]));
            }
            Kind::Compare(first, rest) => {
                all(&[first]);
                rest.iter().for_each(|(_, value)| all(&[value]));
            }
            Kind::Slice(parts) => parts.iter().flatten().for_each(|part| all(&[part])),
            Kind::Call(value, arguments)
            | Kind::Filter(value, _, arguments)
            | Kind::Test(value, _, arguments) => {
                all(&[value]);
                arguments.positional.iter().for_each(|value| all(&[value]));
                arguments.named.iter().for_each(|(_, value)| all(&[value]));
                arguments.star.iter().for_each(|value| all(&[value]));
                arguments.double_star.iter().for_each(|value| all(&[value]));
            }
        }
    }
}
