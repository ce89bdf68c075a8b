//! What the library's messages mean: which status, and the sentence without what is not for users.

use crate::boundary::{Failure, Status};

/// Words with which the library reports that one of its limits is reached.
const LIMIT_WORDS: [&str; 12] = [
    "too large",
    "too big",
    "too many",
    "Too many",
    "too complex",
    "fuel",
    "exceeded",
    "limit",
    "deeply nested",
    "out of range integral type", // Of a count of symbols that has 16 bits.
    "assertion failed",           // Of such counts too.
    "initial push failed",
];

fn is_limit(message: &str) -> bool {
    LIMIT_WORDS.iter().any(|word| message.contains(word))
}

/// Of a call that computes what may follow: all that it runs into is a limit.
pub fn compute_failure(what: &str, message: &str) -> Failure {
    let text = readable(message);
    if is_limit(&text) {
        return Failure::new(
            Status::Timeout,
            format!("{what}: takes more steps than it may ({text})"),
        );
    }
    Failure::new(Status::Internal, format!("{what}: {text}"))
}

pub fn compile_failure(name: &str, message: &str) -> Failure {
    let text = readable(message);
    let status = if is_limit(&text) { Status::Limit } else { Status::Invalid };
    if status == Status::Limit {
        return Failure::new(status, format!("the {name} is too large ({text})"));
    }
    Failure::new(status, format!("{name}: {text}"))
}

/// The library's sentence: without its state, a backtrace and the lines of the source around a place,
/// and with the place as "line 3, column 7".
fn readable(message: &str) -> String {
    let end = ["\n<state>", "\n<backtrace>", "\n<grammar>", "\n<non-verbose/>"]
        .iter()
        .filter_map(|mark| message.find(mark))
        .min()
        .unwrap_or(message.len());
    let lines = message[..end].lines().filter(|line| !is_source_line(line));
    let text = lines.map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ");
    let text = text.strip_prefix("panic: ").unwrap_or(&text);
    with_place(text.strip_prefix("at ").unwrap_or(text)).unwrap_or_else(|| text.to_owned())
}

/// "   3 | start: x", or the mark below it.
fn is_source_line(line: &str) -> bool {
    let is_mark = !line.trim().is_empty() && line.trim() == "^";
    let is_numbered = line.split_once(" | ").is_some_and(|(number, _)| {
        !number.trim().is_empty() && number.trim().bytes().all(|byte| byte.is_ascii_digit())
    });
    is_mark || is_numbered || line.trim_end().ends_with(" |") && line.trim_start().len() < 8
}

/// "3(7): why" as "line 3, column 7: why".
fn with_place(text: &str) -> Option<String> {
    let (line, rest) = text.split_once('(')?;
    let (column, why) = rest.split_once("): ")?;
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    (is_number(line) && is_number(column)).then(|| format!("line {line}, column {column}: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_keeps_its_reason_and_place_and_loses_the_rest() {
        let message =
            "at 3(7): unknown name: \"b\"\n   2 | x: y\n   3 | start: a b\n             ^\n";
        assert_eq!(readable(message), "line 3, column 7: unknown name: \"b\"");
        assert_eq!(readable("lexer error\n<non-verbose/>"), "lexer error");
        assert_eq!(readable("panic: it broke\n<backtrace>\n1: x\n"), "it broke");
        assert_eq!(readable("one\n  two"), "one; two");
    }
}
