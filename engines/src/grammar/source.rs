//! What can be refused before a parser sees a source.

use super::{GrammarKind, Limits};
use crate::boundary::{Failure, Outcome, Status};

/// Nesting of brackets in a source. Parsers of regular expressions and of Lark recurse; at this
/// depth they take under 1 MiB of stack.
const NESTING_MAX: usize = 128;

pub fn check_source(kind: GrammarKind, source: &str, limits: &Limits) -> Outcome<()> {
    let name = kind.name();
    if source.trim().is_empty() {
        return Err(Failure::invalid(format!("the {name} is empty")));
    }
    if source.len() > limits.source_bytes_max {
        return Err(Failure::new(
            Status::Limit,
            format!("the {name} has {} bytes ({} at most)", source.len(), limits.source_bytes_max),
        ));
    }
    if let Some(at) = nested_deeper_at(source, NESTING_MAX) {
        return Err(Failure::new(
            Status::Limit,
            format!("the {name} is nested deeper than {NESTING_MAX} at {}", place(source, at)),
        ));
    }
    if kind == GrammarKind::Lark {
        if let Some(line) = source.lines().position(is_gbnf_rule) {
            return Err(Failure::new(
                Status::NotSupported,
                format!(
                    "line {} is GBNF (\"::=\"), which is not supported; write the grammar in \
                     Lark: each rule is \"name: body\", and the first rule is called \"start\"",
                    line + 1
                ),
            ));
        }
    }
    Ok(())
}

pub fn place(source: &str, at: usize) -> String {
    let before = &source.as_bytes()[..at];
    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    let line_begin = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let column = String::from_utf8_lossy(&before[line_begin..]).chars().count() + 1;
    format!("line {line}, column {column}")
}

/// `root ::= ...`: a name, then "::=", which no line of a Lark grammar begins with.
fn is_gbnf_rule(line: &str) -> bool {
    line.split_once("::=").is_some_and(|(name, _)| {
        let name = name.trim();
        !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '-' || c == '_')
    })
}

/// The byte at which more brackets are open than `depth_max`. Brackets in strings and character
/// classes count too; so a strange source can be refused that a parser would take, and none is
/// passed on that it cannot.
fn nested_deeper_at(source: &str, depth_max: usize) -> Option<usize> {
    let mut depth = 0usize;
    let mut escaped = false;
    for (at, byte) in source.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'(' | b'[' | b'{' => {
                depth += 1;
                if depth > depth_max {
                    return Some(at);
                }
            }
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}
