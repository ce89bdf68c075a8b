//! Lark grammars before the library reads them.
//!
//! Four kinds of constructs are refused here, with their place:
//! - those that ask for tokens by name instead of text,
//! - those that the library cannot undo (a matcher rolls back),
//! - additions to Lark that take the library unlimited time, such as "and" and "not" of
//!   expressions,
//! - and those that nest deeper than a parser should go.
//!
//! Schemas inside (`%json {...}`) are prepared as `schema.rs` does it.

use super::schema::prepare;
use super::source::{place, too_deep, NESTING_MAX};
use crate::boundary::{Failure, Outcome, Status};
use serde_json::Value;
use std::collections::HashMap;

/// Rules and terminals that name one another are compiled one inside the other, and so are
/// brackets: at most so deep along any chain of names. A level takes 2.3 KiB of the stack of a
/// compilation, and where errors collect backtraces (RUST_BACKTRACE) an error at this depth takes a
/// second.
const CHAIN_DEPTH_MAX: usize = 1_000;

/// Attributes of a rule, `name[lazy]: ...`, that change what matches and can be undone.
const ATTRIBUTES: [&str; 3] = ["capture", "lazy", "suffix"];

/// A rule or a terminal, and the names in its body with the brackets around each.
struct Definition<'a> {
    name: &'a str,
    at: usize,
    names: Vec<(&'a str, usize)>,
}

struct Scan<'a> {
    source: &'a str,
    at: usize,
    made: String,
    copied: usize,
    depth: usize,
    definitions: Vec<Definition<'a>>,
}

/// The source as the library may read it.
pub fn scan(source: &str) -> Outcome<String> {
    let mut scan =
        Scan { source, at: 0, made: String::new(), copied: 0, depth: 0, definitions: Vec::new() };
    while scan.at < source.len() {
        if scan.at == 0 || source.as_bytes()[scan.at - 1] == b'\n' {
            scan.begin_line()?;
        }
        scan.step()?;
    }
    if let Some(at) = too_long_chain(&scan.definitions) {
        return Err(Failure::new(
            Status::Limit,
            format!(
                "the Lark grammar has names and brackets inside one another over {CHAIN_DEPTH_MAX} \
                 deep, at {}",
                place(source, at)
            ),
        ));
    }
    scan.made.push_str(&source[scan.copied..]);
    Ok(scan.made)
}

/// Follows names as the library does, depth first and each once; gives the place of the definition
/// that lies too deep.
fn too_long_chain(definitions: &[Definition]) -> Option<usize> {
    let numbers: HashMap<&str, usize> =
        definitions.iter().enumerate().map(|(number, each)| (each.name, number)).collect();
    let mut seen = vec![false; definitions.len()];
    let start = numbers.get("start").copied();
    for first in start.into_iter().chain(0..definitions.len()) {
        // A definition, how deep it lies, and how many of its names are done.
        let mut stack = vec![(first, 0, 0)];
        while let Some((number, depth, done)) = stack.pop() {
            if done == 0 && std::mem::replace(&mut seen[number], true) {
                continue;
            }
            if depth > CHAIN_DEPTH_MAX {
                return Some(definitions[number].at);
            }
            if let Some((name, brackets)) = definitions[number].names.get(done) {
                stack.push((number, depth, done + 1));
                if let Some(next) = numbers.get(name).filter(|next| !seen[**next]) {
                    stack.push((*next, depth + brackets + 1, 0));
                }
            }
        }
    }
    None
}

impl<'a> Scan<'a> {
    fn rest(&self) -> &'a str {
        &self.source[self.at..]
    }

    fn not_supported(&self, what: impl std::fmt::Display) -> Failure {
        let at = place(self.source, self.at);
        Failure::new(Status::NotSupported, format!("Lark grammar: {at}: {what}"))
    }

    fn begin_line(&mut self) -> Outcome<()> {
        let line = self.rest().lines().next().unwrap_or_default();
        let name = line.trim_start().trim_start_matches(['?', '!', '_']);
        let end = name.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '-');
        let after = end.map_or("", |end| &name[end..]);
        if end != Some(0) && after.trim_start().starts_with("::=") {
            return Err(self.not_supported(
                "this is GBNF (\"::=\"), which is not supported; write the grammar in Lark: each \
                 rule is \"name: body\", and the first one is called \"start\"",
            ));
        }
        if end != Some(0) && after.starts_with('[') {
            self.check_attributes(&after[1..])?;
        }
        // The name before a colon is being defined; all else belongs to the definition before.
        let begins = line.starts_with(|c: char| c.is_ascii_alphabetic() || "?!_".contains(c));
        if begins && line.contains(':') {
            let name = line.trim_start_matches(['?', '!']);
            let name = &name[..name_length(name)];
            self.definitions.push(Definition { name, at: self.at, names: Vec::new() });
        }
        Ok(())
    }

    fn check_attributes(&self, text: &str) -> Outcome<()> {
        let text = text.split_once(']').map_or(text, |(inside, _)| inside);
        for attribute in text.split(',') {
            let name = attribute.split('=').next().unwrap_or_default().trim();
            let is_name =
                !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
            if is_name && !ATTRIBUTES.contains(&name) {
                return Err(
                    self.not_supported(format!("the attribute \"{name}\" is not supported"))
                );
            }
        }
        Ok(())
    }

    /// One lexeme.
    fn step(&mut self) -> Outcome<()> {
        let rest = self.rest();
        match rest.as_bytes()[0] {
            b'"' => self.at += quoted(rest, b'"', false),
            b'/' if rest.starts_with("//") => self.at += line_length(rest),
            b'/' => self.regex()?,
            b'#' => self.at += line_length(rest),
            b'<' => self.special_token()?,
            b'%' => self.directive()?,
            b'~' => self.tilde()?,
            b'&' => return Err(self.not_supported("\"&\" is not supported")),
            b':' if rest.starts_with("::") => {
                return Err(self.not_supported("\"::\" is not supported"));
            }
            b'(' | b'[' | b'{' => {
                self.depth += 1;
                if self.depth > NESTING_MAX {
                    return Err(too_deep("Lark grammar", self.source, self.at));
                }
                self.at += 1;
            }
            b')' | b']' | b'}' => {
                self.depth = self.depth.saturating_sub(1);
                self.at += 1;
            }
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
                let name = &rest[..name_length(rest)];
                if let Some(definition) = self.definitions.last_mut() {
                    definition.names.push((name, self.depth));
                }
                self.at += name.len();
            }
            _ => self.at += rest.chars().next().map_or(1, char::len_utf8),
        }
        Ok(())
    }

    fn regex(&mut self) -> Outcome<()> {
        let length = quoted(self.rest(), b'/', true);
        let mut depth = 0usize;
        let mut escaped = false;
        for (offset, byte) in self.rest()[..length].bytes().enumerate() {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'(' | b'[' => depth += 1,
                b')' | b']' => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth > NESTING_MAX {
                return Err(too_deep("Lark grammar", self.source, self.at + offset));
            }
        }
        self.at += length;
        Ok(())
    }

    /// `<|im_end|>` and `<[128]>`.
    fn special_token(&mut self) -> Outcome<()> {
        let inside = &self.rest()[1..];
        let end = inside.find(|c: char| c == '<' || c == '>' || c.is_whitespace());
        if end.is_some_and(|end| end > 0 && inside[end..].starts_with('>')) {
            let name = &self.rest()[..end.unwrap_or(0) + 2];
            return Err(self.not_supported(format!(
                "{name} names a token; a grammar is of text, which is written in quotes"
            )));
        }
        self.at += 1;
        Ok(())
    }

    fn directive(&mut self) -> Outcome<()> {
        let rest = self.rest();
        let end =
            rest[1..].find(|c: char| !c.is_ascii_alphanumeric()).map_or(rest.len(), |n| n + 1);
        match &rest[..end] {
            "%json" => self.schema(end),
            "%ignore" | "%import" => {
                self.at += end;
                Ok(())
            }
            other => Err(self.not_supported(format!(
                "\"{other}\" is not supported (there are %ignore, %import and %json)"
            ))),
        }
    }

    /// `x~2..5` repeats; `~x` is everything that `x` is not.
    fn tilde(&mut self) -> Outcome<()> {
        if !self.rest()[1..].trim_start().starts_with(|c: char| c.is_ascii_digit()) {
            return Err(self.not_supported("\"~\" without a count is not supported"));
        }
        self.at += 1;
        Ok(())
    }

    fn schema(&mut self, keyword_length: usize) -> Outcome<()> {
        let begin = self.at + keyword_length;
        let (schema, length) = json_prefix(&self.source[begin..]).map_err(|error| {
            let at = place(self.source, self.at);
            Failure::invalid(format!("Lark grammar: {at}: after %json: {error}"))
        })?;
        let prepared = prepare(&schema).map_err(|failure| {
            let at = place(self.source, self.at);
            Failure::new(failure.status, format!("Lark grammar: {at}: {}", failure.message))
        })?;
        self.made.push_str(&self.source[self.copied..begin]);
        self.made.push_str(&prepared.to_string());
        self.at = begin + length;
        self.copied = self.at;
        Ok(())
    }
}

fn name_length(text: &str) -> usize {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    text.find(|c| !is_of_name(c)).unwrap_or(text.len())
}

fn line_length(text: &str) -> usize {
    text.find('\n').unwrap_or(text.len()).max(1)
}

/// The bytes of a text in quotes, with both. A string ends with its line.
fn quoted(text: &str, quote: u8, may_span_lines: bool) -> usize {
    let mut escaped = false;
    for (offset, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            b'\n' if !may_span_lines => return offset,
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            _ if byte == quote => return offset + 1,
            _ => {}
        }
    }
    text.len()
}

fn json_prefix(text: &str) -> Result<(Value, usize), String> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    match values.next() {
        Some(Ok(value)) => Ok((value, values.byte_offset())),
        Some(Err(error)) => Err(error.to_string()),
        None => Err("a schema is missing".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_in_quotes_expressions_and_comments_is_left_alone() {
        let source = "start: x~2..3 | \"&~::\" | \"<a> %json ::= ((\" /<b>[(]%json/ // <c>\n  | \"\\\"<d>\" # <e>\nx: \"<\"\n";
        assert_eq!(scan(source).unwrap(), source);
    }

    #[test]
    fn a_schema_inside_is_prepared_and_what_is_beside_it_stays() {
        let made = scan("start: \"a\" %json {\"type\": \"null\"} \"b\"\n").unwrap();
        assert!(made.starts_with("start: \"a\" %json{\"type\":\"null\","), "{made}");
        assert!(made.ends_with("} \"b\"\n"), "{made}");
        let failure = scan("start: x\nx: %json {\"not\": {}}").unwrap_err();
        assert_eq!(
            failure.message,
            "Lark grammar: line 2, column 4: JSON schema: \"not\" is not supported (at #)"
        );
    }

    #[test]
    fn what_a_grammar_cannot_have_is_refused_with_its_place() {
        for (source, words) in [
            ("start: <|im_end|>", "line 1, column 8: <|im_end|> names a token"),
            ("start: \"a\" <[128]>", "<[128]> names a token"),
            ("%llguidance {}\nstart: \"a\"", "line 1, column 1: \"%llguidance\" is not supported"),
            ("start: A\nA: /a*/ & /b*/", "line 2, column 9: \"&\" is not supported"),
            ("start: A\nA: ~/a*/", "line 2, column 4: \"~\" without a count"),
            ("start::_: \"a\"", "\"::\" is not supported"),
            ("start[max_tokens=3]: /a*/", "\"max_tokens\" is not supported"),
            ("start[lazy, stop=\"x\"]: /a*/", "\"stop\" is not supported"),
            ("start: a\nroot-a ::= \"a\"", "line 2, column 1: this is GBNF"),
            ("start: x %json {", "line 1, column 10: after %json: EOF"),
        ] {
            let failure = scan(source).unwrap_err();
            assert!(failure.message.contains(words), "{source}: {}", failure.message);
        }
    }

    #[test]
    fn depth_is_limited_in_one_place_and_in_all_lines_together() {
        let deep = format!("start: {}\"a\"", "(".repeat(200));
        assert_eq!(scan(&deep).unwrap_err().status, Status::Limit);
        let regex = format!("start: /{}a/", "(".repeat(200));
        assert_eq!(scan(&regex).unwrap_err().status, Status::Limit);
        let chain = |count: usize| {
            let rules = (0..count).map(|i| format!("r{i}: ((r{} | \"a\"))\n", i + 1));
            scan(&(rules.collect::<String>() + &format!("start: r0\nr{count}: \"b\"\n")))
        };
        assert!(chain(330).is_ok());
        let failure = chain(340).unwrap_err();
        assert_eq!(failure.status, Status::Limit);
        assert!(failure.message.ends_with("at line 335, column 1"), "{}", failure.message);
        // Many rules beside one another, and rules that name one another in a circle, are not deep.
        let wide: String = (0..9_000).map(|i| format!("r{i}: start\n")).collect();
        let names: Vec<String> = (0..9_000).map(|i| format!("r{i}")).collect();
        assert!(scan(&format!("start: {}\n{wide}", names.join(" | "))).is_ok());
    }
}
