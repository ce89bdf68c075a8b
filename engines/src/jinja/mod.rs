//! Jinja with Python's values, as `transformers` sets it up for chat templates.
//!
//! There are two reasons for an engine of our own. A prompt must be what Python's Jinja makes of
//! it. And each character of it must be known to come from the template or from the request,
//! however a template cuts, joins and formats. `text.rs` carries that origin; `budget.rs` limits
//! the work of a template.

pub mod ast;
mod attributes;
mod budget;
mod calls;
mod clock;
pub mod error;
mod eval;
mod filters;
mod format;
mod globals;
pub mod json;
mod lexer;
mod methods;
mod numbers;
mod operators;
mod parse_expression;
mod parser;
mod percent;
mod print;
mod run;
mod scopes;
mod sequences;
mod tests;
pub mod text;
mod text_filters;
mod text_methods;
pub mod value;

use ast::Program;
use error::Result;
use run::{Frame, Run};
use text::Char;
use value::{Dict, Value};

pub use parser::parse;

/// Renders with these variables; the result's characters know where they came from.
pub fn render(program: &Program, variables: &Dict, now_unix_seconds: i64) -> Result<Vec<Char>> {
    let run = Run::new(program, now_unix_seconds);
    let context = Frame::new(None);
    for (index, name) in program.names.iter().enumerate() {
        if let Some(value) = variables.get_name(name) {
            context.set(index as u32, value.clone());
        }
    }
    let frame = Frame::new(Some(&context));
    let mut out = Vec::new();
    run.scope(&program.scope, &frame, &mut out)?;
    Ok(out)
}

/// A value that holds `entries`.
pub fn dict(entries: Vec<(&str, Value)>) -> Result<Dict> {
    Dict::from_pairs(entries.into_iter().map(|(name, value)| (Value::text(name), value)))
}
