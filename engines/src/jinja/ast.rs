//! A compiled template: immutable, and shared by all renderings.

use super::text::Text;
use std::sync::{Arc, OnceLock};

/// A name of the template, by its place in `Program::names`.
pub type Symbol = u32;

pub struct Program {
    pub scope: Scope,
    pub names: Vec<String>,
}

/// Statements with variables of their own.
#[derive(Default)]
pub struct Scope {
    pub body: Vec<Statement>,
    /// Names that are undefined until the scope sets them (`scopes.rs`).
    pub hides: OnceLock<Vec<Symbol>>,
}

impl Scope {
    pub fn new(body: Vec<Statement>) -> Self {
        Scope { body, hides: OnceLock::new() }
    }
}

pub struct Statement {
    pub line: usize,
    pub kind: StatementKind,
}

pub enum StatementKind {
    Data(Text),
    Print(Vec<Expression>),
    If {
        branches: Vec<(Expression, Vec<Statement>)>,
        otherwise: Vec<Statement>,
    },
    For(Arc<For>),
    Set {
        target: Target,
        value: Expression,
    },
    SetBlock {
        target: Target,
        filter: Option<Expression>,
        scope: Scope,
    },
    With {
        bindings: Vec<(Target, Expression)>,
        scope: Scope,
    },
    Macro(Arc<MacroBody>),
    CallBlock {
        call: Expression,
        caller: Arc<MacroBody>,
    },
    /// `{% generation %}`: a macro that is called where it stands.
    Generation(Arc<MacroBody>),
    FilterBlock {
        filter: Expression,
        scope: Scope,
    },
    /// A named block, rendered where it stands.
    Block(Scope),
    Break,
    Continue,
    /// A statement that needs a loader of templates, which no chat template has.
    Refused(String),
}

pub struct For {
    pub target: Target,
    pub items: Expression,
    pub test: Option<Expression>,
    pub recursive: bool,
    pub scope: Scope,
    pub otherwise: Scope,
    pub loop_name: Symbol,
}

pub struct MacroBody {
    pub name: String,
    pub symbol: Symbol,
    pub parameters: Vec<(Symbol, Option<Expression>)>,
    pub scope: Scope,
    /// The names that the body uses without a parameter of that name.
    pub caller: Option<Symbol>,
    pub varargs: Option<Symbol>,
    pub kwargs: Option<Symbol>,
    pub explicit_caller: bool,
}

pub enum Target {
    Name(Symbol),
    Attribute(Symbol, String),
    Tuple(Vec<Target>),
}

pub struct Expression {
    pub line: usize,
    pub kind: Kind,
}

impl Expression {
    /// Made of literals by operators alone.
    pub fn is_constant(&self) -> bool {
        match &self.kind {
            Kind::Constant(_) => true,
            Kind::Unary(_, value) | Kind::Not(value) => value.is_constant(),
            Kind::Binary(_, left, right) => left.is_constant() && right.is_constant(),
            Kind::Compare(first, rest) => {
                first.is_constant() && rest.iter().all(|(_, value)| value.is_constant())
            }
            Kind::Slice(parts) => parts.iter().flatten().all(Expression::is_constant),
            _ => false,
        }
    }
}

pub enum Constant {
    None,
    Bool(bool),
    Int(i128),
    Float(f64),
    Text(Text),
}

pub enum Kind {
    Constant(Constant),
    Name(Symbol),
    List(Vec<Expression>),
    Tuple(Vec<Expression>),
    Dict(Vec<(Expression, Expression)>),
    /// The text that a filter or a call block gets as its first argument.
    Body,
    Not(Box<Expression>),
    And(Box<Expression>, Box<Expression>),
    Or(Box<Expression>, Box<Expression>),
    If {
        test: Box<Expression>,
        then: Box<Expression>,
        otherwise: Option<Box<Expression>>,
    },
    Compare(Box<Expression>, Vec<(Comparison, Expression)>),
    Unary(Sign, Box<Expression>),
    Binary(Operator, Box<Expression>, Box<Expression>),
    Concat(Vec<Expression>),
    Attribute(Box<Expression>, String),
    Item(Box<Expression>, Box<Expression>),
    Slice(Box<[Option<Expression>; 3]>),
    Call(Box<Expression>, Arguments),
    Filter(Box<Expression>, String, Arguments),
    Test(Box<Expression>, String, Arguments),
}

#[derive(Default)]
pub struct Arguments {
    pub positional: Vec<Expression>,
    pub named: Vec<(String, Expression)>,
    pub star: Option<Box<Expression>>,
    pub double_star: Option<Box<Expression>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    Minus,
    Plus,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    FloorDivide,
    Modulo,
    Power,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
    NotIn,
}
