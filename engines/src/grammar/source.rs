//! Refuses sources before the library reads them.

use super::lark;
use super::schema;
use super::{GrammarKind, Limits};
use crate::boundary::{Failure, Outcome, Status};
use llguidance::api::TopLevelGrammar;
use regex_syntax::ast::parse::ParserBuilder;
use regex_syntax::ast::ErrorKind;

/// Nesting of brackets. At this depth parsers that recurse take under 1 MiB of stack.
pub const NESTING_MAX: usize = 128;

/// A source that was looked at.
pub struct Source {
    /// As the library may read it.
    pub grammar: TopLevelGrammar,
    /// The schema that the library was given, if it is of a JSON schema.
    pub schema: Option<serde_json::Value>,
}

pub fn read_source(kind: GrammarKind, source: &str, limits: &Limits) -> Outcome<Source> {
    let name = kind.name();
    if source.trim().is_empty() && kind != GrammarKind::Regex || source.is_empty() {
        return Err(Failure::invalid(format!("the {name} is empty")));
    }
    if source.len() > limits.source_bytes_max {
        return Err(Failure::new(
            Status::Limit,
            format!("the {name} has {} bytes ({} at most)", source.len(), limits.source_bytes_max),
        ));
    }
    let mut schema = None;
    let grammar = match kind {
        GrammarKind::Regex => {
            check_regex(source)?;
            TopLevelGrammar::from_regex(source)
        }
        GrammarKind::Lark => TopLevelGrammar::from_lark(lark::scan(source)?),
        GrammarKind::JsonSchema => {
            let prepared = schema::prepare(&read_json(source)?)?;
            schema = Some(prepared.clone());
            TopLevelGrammar::from_json_schema(prepared)
        }
    };
    Ok(Source { grammar, schema })
}

/// The reader of JSON has the same limit of nesting.
fn read_json(source: &str) -> Outcome<serde_json::Value> {
    serde_json::from_str(source).map_err(|error| {
        if error.to_string().starts_with("recursion limit") {
            let (line, column) = (error.line(), error.column());
            let text = format!(
                "the JSON schema is nested deeper than {NESTING_MAX} at line {line}, column {column}"
            );
            return Failure::new(Status::Limit, text);
        }
        Failure::invalid(format!("JSON schema: {error}"))
    })
}

fn check_regex(source: &str) -> Outcome<()> {
    let mut parser = ParserBuilder::new().nest_limit(NESTING_MAX as u32).build();
    let Err(error) = parser.parse(source) else { return Ok(()) };
    let begin = error.span().start;
    if matches!(error.kind(), ErrorKind::NestLimitExceeded(_)) {
        return Err(too_deep("regular expression", source, begin.offset));
    }
    let (line, column, why) = (begin.line, begin.column, error.kind());
    let text = format!("regular expression: line {line}, column {column}: {why}");
    Err(Failure::invalid(text))
}

pub fn too_deep(name: &str, source: &str, at: usize) -> Failure {
    let at = place(source, at);
    Failure::new(Status::Limit, format!("the {name} is nested deeper than {NESTING_MAX} at {at}"))
}

/// "line 3, column 7", both from 1.
pub fn place(source: &str, at: usize) -> String {
    let before = &source.as_bytes()[..at];
    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    let line_begin = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let column = String::from_utf8_lossy(&before[line_begin..]).chars().count() + 1;
    format!("line {line}, column {column}")
}
