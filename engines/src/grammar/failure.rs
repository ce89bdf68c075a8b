//! Errors of the library: the status of each message, and the sentence without parts that are not
//! for users.

use crate::boundary::{Failure, Status};

/// Words with which the library reports that one of its limits is reached.
const LIMIT_WORDS: [&str; 15] = [
    "too large",
    "too big",
    "too many",
    "Too many",
    "too complex",
    "fuel",
    "exceeded",
    "limit",
    "deeply nested",
    "max is", // Items of a row of the parser.
    "Unable to determine",
    "determine if",
    "out of range integral type", // Of a count of symbols that has 16 bits.
    "assertion failed",           // Of such counts too.
    "initial push failed",
];

/// The library quotes sources in some messages.
const TEXT_CHARACTERS_MAX: usize = 400;

fn is_limit(message: &str) -> bool {
    LIMIT_WORDS.iter().any(|word| message.contains(word))
}

/// The failure of a call that computes the next tokens: every reason is a limit.
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
    if text.contains("coerce_one_of") {
        let why =
            "\"oneOf\" is not supported unless no instance can match two of its schemas: they \
                   differ in type, or in a required property with other constants";
        return Failure::new(Status::NotSupported, format!("{name}: {why}"));
    }
    if let Some((_, which)) = text.split_once("patternProperty regexes ") {
        let why = format!("\"patternProperties\" in which a name can match two: {which}");
        return Failure::new(Status::NotSupported, format!("{name}: {why}"));
    }
    if text.contains("min/maxProperties only supported") {
        let why =
            "\"minProperties\" and \"maxProperties\" are not supported unless \"required\" has \
                   all that \"properties\" has";
        return Failure::new(Status::NotSupported, format!("{name}: {why}"));
    }
    // The library's own names for definitions are nothing to a user.
    let text = text.split("; while processing #/$defs/").next().unwrap_or_default().to_owned();
    if let Some((_, why)) = text.split_once("Unsatisfiable schema: ") {
        return Failure::invalid(format!("{name}: no text matches it ({why})"));
    }
    if let Some((_, which)) = text.split_once("lookarounds not supported yet; ") {
        let why = "\"^\", \"$\" and \"\\b\" are not supported inside an expression";
        return Failure::new(Status::NotSupported, format!("{name}: {why} ({which})"));
    }
    let status = match text.contains("not supported") {
        true => Status::NotSupported,
        false if is_limit(&text) => Status::Limit,
        false => Status::Invalid,
    };
    if text.contains("symbols.len()") {
        return Failure::new(status, format!("the {name} is too large (over 65,000 symbols)"));
    }
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
    let text = shortened(without_quote(text));
    let text = text.strip_prefix("panic: ").unwrap_or(&text);
    with_place(text.strip_prefix("at ").unwrap_or(text)).unwrap_or_else(|| text.to_owned())
}

/// A message about an expression has it once more, with a mark below.
fn without_quote(text: String) -> String {
    let parts = text.split_once("regex parse error:").and_then(|(before, rest)| {
        rest.split_once("; error: ").map(|(_, why)| format!("{before}{why}"))
    });
    parts.unwrap_or(text)
}

fn shortened(mut text: String) -> String {
    let Some((end, _)) = text.char_indices().nth(TEXT_CHARACTERS_MAX) else { return text };
    text.truncate(end);
    text + " ..."
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
        let message =
            "invalid regex \"(\": regex parse error:\n    (\n    ^\nerror: unclosed group";
        assert_eq!(readable(message), "invalid regex \"(\": unclosed group");
        assert_eq!(readable(&"\u{e9}".repeat(9_999)).chars().count(), TEXT_CHARACTERS_MAX + 4);
    }
}
