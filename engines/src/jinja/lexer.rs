//! From a template's source to tokens, by the rules of Jinja's own lexer with `trim_blocks` and
//! `lstrip_blocks`.

use super::error::{Error, Result};
use super::text::is_space;

#[derive(Debug, Clone, PartialEq)]
pub enum Token {
    Data(String),
    VariableBegin,
    VariableEnd,
    BlockBegin,
    BlockEnd,
    Name(String),
    Text(String),
    Int(i128),
    Float(f64),
    Operator(&'static str),
    End,
}

#[derive(Debug, Clone)]
pub struct Placed {
    pub token: Token,
    pub line: usize,
}

/// Longer ones first.
const OPERATORS: [&str; 26] = [
    "//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[", "]", "(", ")", "{", "}",
    ">", "<", "=", ".", ":", "|", ",", ";",
];

pub fn tokenize(source: &str) -> Result<Vec<Placed>> {
    let source = normalized(source);
    let mut lexer = Lexer { rest: &source, line: 1, line_starts: true, tokens: Vec::new() };
    lexer.run()?;
    lexer.push(Token::End);
    Ok(lexer.tokens)
}

/// All line ends are "\n", and one at the end of the source goes.
fn normalized(source: &str) -> String {
    let mut text = source.replace("\r\n", "\n").replace('\r', "\n");
    if text.ends_with('\n') {
        text.pop();
    }
    text
}

struct Lexer<'s> {
    rest: &'s str,
    line: usize,
    /// The last token ended a line.
    line_starts: bool,
    tokens: Vec<Placed>,
}

#[derive(Clone, Copy, PartialEq)]
enum Opening {
    Variable,
    Block,
    Comment,
    Raw,
}

fn space(character: char) -> bool {
    is_space(character as u32)
}

impl<'s> Lexer<'s> {
    fn push(&mut self, token: Token) {
        self.tokens.push(Placed { token, line: self.line });
    }

    fn take(&mut self, bytes: usize) -> &'s str {
        let (taken, rest) = self.rest.split_at(bytes);
        self.rest = rest;
        self.line += taken.bytes().filter(|b| *b == b'\n').count();
        if let Some(last) = taken.chars().next_back() {
            self.line_starts = last == '\n';
        }
        taken
    }

    fn fail<T>(&self, message: impl Into<String>) -> Result<T> {
        Err(Error::at(self.line, message))
    }

    fn run(&mut self) -> Result<()> {
        while !self.rest.is_empty() {
            let Some((begin, opening)) = next_opening(self.rest) else {
                let data = self.rest;
                self.push(Token::Data(data.to_owned()));
                self.take(data.len());
                return Ok(());
            };
            self.data(begin, opening != Opening::Variable, begin + 2);
            match opening {
                Opening::Variable => self.tag(Token::VariableBegin, Token::VariableEnd, "}}")?,
                Opening::Block => self.tag(Token::BlockBegin, Token::BlockEnd, "%}")?,
                Opening::Comment => self.comment()?,
                Opening::Raw => self.raw()?,
            }
        }
        Ok(())
    }

    /// The text before a tag that opens at `begin`, and the tag's sign.
    fn data(&mut self, begin: usize, may_strip: bool, after: usize) {
        let text = &self.rest[..begin];
        let sign = self.rest[after..].chars().next();
        let mut kept = text;
        if sign == Some('-') {
            kept = text.trim_end_matches(space);
        } else if sign != Some('+') && may_strip {
            let line = text.rfind('\n').map_or(0, |at| at + 1);
            if (line > 0 || self.line_starts) && text[line..].chars().all(space) {
                kept = &text[..line];
            }
        }
        if !kept.is_empty() {
            self.push(Token::Data(kept.to_owned()));
        }
        let signed = matches!(sign, Some('-' | '+'));
        self.take(after + usize::from(signed));
    }

    /// The end of a tag: `-` takes the white space after it, a block's the line end.
    fn tag_end(&mut self, end: &str, takes_line_end: bool) -> bool {
        let rest = self.rest;
        let bytes = if let Some(after) = rest.strip_prefix('-').and_then(|r| r.strip_prefix(end)) {
            rest.len() - after.trim_start_matches(space).len()
        } else if takes_line_end && rest.strip_prefix('+').is_some_and(|r| r.starts_with(end)) {
            end.len() + 1
        } else if let Some(after) = rest.strip_prefix(end) {
            end.len() + usize::from(takes_line_end && after.starts_with('\n'))
        } else {
            return false;
        };
        self.take(bytes);
        true
    }

    fn comment(&mut self) -> Result<()> {
        let Some(end) = self.rest.find("#}") else {
            return self.fail("missing end of comment tag");
        };
        let signed = end > 0 && matches!(self.rest.as_bytes()[end - 1], b'-' | b'+');
        self.take(end - usize::from(signed));
        self.tag_end("#}", true);
        Ok(())
    }

    /// Everything up to `{% endraw %}`, as it stands.
    fn raw(&mut self) -> Result<()> {
        // The word and its end; `next_opening` has seen them.
        let begin = self.rest.find("raw").unwrap_or(0);
        self.take(begin + 3);
        let spaces = self.rest.len() - self.rest.trim_start_matches(space).len();
        self.take(spaces);
        self.tag_end("%}", false);
        let mut from = 0;
        while let Some(at) = self.rest[from..].find("{%").map(|at| at + from) {
            let inside = self.rest[at + 2..].trim_start_matches(['-', '+']);
            let signs = self.rest.len() - at - 2 - inside.len();
            let word = inside.trim_start_matches(space);
            if signs <= 1 {
                if let Some(after) = word.strip_prefix("endraw") {
                    let after = after.trim_start_matches(space);
                    if ["%}", "-%}", "+%}"].iter().any(|end| after.starts_with(end)) {
                        let skipped = self.rest.len() - after.len();
                        self.data(at, true, at + 2);
                        let taken = skipped - (at + 2 + signs);
                        self.take(taken);
                        self.tag_end("%}", true);
                        return Ok(());
                    }
                }
            }
            from = at + 2;
        }
        self.fail("missing end of raw directive")
    }

    fn tag(&mut self, begin: Token, end: Token, end_text: &str) -> Result<()> {
        self.push(begin);
        let mut open: Vec<&str> = Vec::new();
        loop {
            if open.is_empty() {
                let line = self.line;
                if self.tag_end(end_text, end == Token::BlockEnd) {
                    self.tokens.push(Placed { token: end, line });
                    return Ok(());
                }
            }
            let Some(first) = self.rest.chars().next() else { return Ok(()) };
            if space(first) {
                let spaces = self.rest.len() - self.rest.trim_start_matches(space).len();
                self.take(spaces);
            } else if first.is_ascii_digit() {
                self.number()?;
            } else if is_name_character(first) {
                self.name()?;
            } else if first == '"' || first == '\'' {
                self.text(first)?;
            } else {
                self.operator(first, &mut open)?;
            }
        }
    }

    fn operator(&mut self, first: char, open: &mut Vec<&'static str>) -> Result<()> {
        let Some(operator) = OPERATORS.iter().find(|each| self.rest.starts_with(**each)) else {
            return self.fail(format!("unexpected character {first:?}"));
        };
        match *operator {
            "{" => open.push("}"),
            "(" => open.push(")"),
            "[" => open.push("]"),
            "}" | ")" | "]" => match open.pop() {
                None => return self.fail(format!("unexpected '{operator}'")),
                Some(wanted) if wanted != *operator => {
                    return self.fail(format!("unexpected '{operator}', expected '{wanted}'"))
                }
                Some(_) => {}
            },
            _ => {}
        }
        self.push(Token::Operator(operator));
        self.take(operator.len());
        Ok(())
    }

    fn name(&mut self) -> Result<()> {
        let end = self.rest.find(|c| !is_name_character(c)).unwrap_or(self.rest.len());
        let name = self.rest[..end].to_owned();
        self.push(Token::Name(name));
        self.take(end);
        Ok(())
    }

    fn number(&mut self) -> Result<()> {
        let after_dot =
            matches!(self.tokens.last(), Some(Placed { token: Token::Operator("."), .. }));
        let bytes = self.rest.as_bytes();
        if let Some(end) = float_end(bytes).filter(|_| !after_dot) {
            let digits: String = self.rest[..end].chars().filter(|c| *c != '_').collect();
            self.push(Token::Float(digits.parse().unwrap_or(f64::INFINITY)));
            self.take(end);
            return Ok(());
        }
        let (radix, skip, end) = int_end(bytes);
        let digits: String = self.rest[skip..end].chars().filter(|c| *c != '_').collect();
        match i128::from_str_radix(&digits, radix) {
            Ok(value) => self.push(Token::Int(value)),
            Err(_) => return self.fail(format!("the integer {digits} is larger than 127 bits")),
        }
        self.take(end);
        Ok(())
    }

    fn text(&mut self, quote: char) -> Result<()> {
        let mut escaped = false;
        let end = self.rest[1..].find(|c| {
            let ends = c == quote && !escaped;
            escaped = c == '\\' && !escaped;
            ends
        });
        let Some(end) = end else { return self.fail(format!("unexpected character {quote:?}")) };
        match unescaped(&self.rest[1..1 + end]) {
            Ok(value) => self.push(Token::Text(value)),
            Err(why) => return self.fail(why),
        }
        self.take(end + 2);
        Ok(())
    }
}

/// The next tag and where it opens.
fn next_opening(text: &str) -> Option<(usize, Opening)> {
    let bytes = text.as_bytes();
    let mut from = 0;
    loop {
        let at = from + text[from..].find('{')?;
        match bytes.get(at + 1) {
            Some(b'{') => return Some((at, Opening::Variable)),
            Some(b'#') => return Some((at, Opening::Comment)),
            Some(b'%') if opens_raw(&text[at + 2..]) => return Some((at, Opening::Raw)),
            Some(b'%') => return Some((at, Opening::Block)),
            _ => from = at + 1,
        }
    }
}

fn opens_raw(inside: &str) -> bool {
    let inside = inside.strip_prefix(['-', '+']).unwrap_or(inside).trim_start_matches(space);
    let Some(after) = inside.strip_prefix("raw") else { return false };
    let after = after.trim_start_matches(space);
    after.starts_with("%}") || after.starts_with("-%}")
}

fn is_name_character(character: char) -> bool {
    character == '_' || character.is_alphanumeric()
}

fn digits_end(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    let mut after_digit = false;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'0'..=b'9' => after_digit = true,
            b'_' if after_digit && bytes.get(at + 1).is_some_and(u8::is_ascii_digit) => {
                after_digit = false;
            }
            _ => break,
        }
        at += 1;
    }
    (at > from).then_some(at)
}

fn exponent_end(bytes: &[u8], at: usize) -> Option<usize> {
    if !matches!(bytes.get(at), Some(b'e' | b'E')) {
        return None;
    }
    let signed = matches!(bytes.get(at + 1), Some(b'+' | b'-'));
    digits_end(bytes, at + 1 + usize::from(signed))
}

/// The end of a float literal; an integer has none.
fn float_end(bytes: &[u8]) -> Option<usize> {
    let whole = digits_end(bytes, 0)?;
    let fraction =
        if bytes.get(whole) == Some(&b'.') { digits_end(bytes, whole + 1) } else { None };
    exponent_end(bytes, fraction.unwrap_or(whole)).or(fraction)
}

/// The radix of an integer literal, where its digits begin and where they end.
fn int_end(bytes: &[u8]) -> (u32, usize, usize) {
    for (prefixes, radix) in [([b'x', b'X'], 16), ([b'o', b'O'], 8), ([b'b', b'B'], 2)] {
        if bytes[0] == b'0' && bytes.get(1).is_some_and(|b| prefixes.contains(b)) {
            let is_digit = |b: &u8| (*b as char).is_digit(radix) || *b == b'_';
            let count = bytes[2..].iter().take_while(|b| is_digit(b)).count();
            if count > 0 {
                return (radix, 2, 2 + count);
            }
        }
    }
    if bytes[0] == b'0' {
        let zeros = bytes.iter().take_while(|b| matches!(b, b'0' | b'_')).count();
        return (10, 0, zeros);
    }
    (10, 0, digits_end(bytes, 0).unwrap_or(1))
}

/// Python's escapes in a string literal.
fn unescaped(text: &str) -> std::result::Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        let Some(kind) = chars.next() else { break };
        match kind {
            '\n' => {}
            '\\' | '\'' | '"' => out.push(kind),
            'a' => out.push('\u{7}'),
            'b' => out.push('\u{8}'),
            'f' => out.push('\u{c}'),
            'n' => out.push('\n'),
            'r' => out.push('\r'),
            't' => out.push('\t'),
            'v' => out.push('\u{b}'),
            'x' | 'u' | 'U' => {
                let count = match kind {
                    'x' => 2,
                    'u' => 4,
                    _ => 8,
                };
                let digits: String = chars.by_ref().take(count).collect();
                let value = u32::from_str_radix(&digits, 16)
                    .ok()
                    .filter(|_| digits.len() == count && !digits.starts_with('+'));
                match value.and_then(char::from_u32) {
                    Some(value) => out.push(value),
                    None => return Err(format!("the escape \\{kind}{digits} is not a character")),
                }
            }
            '0'..='7' => {
                let mut value = kind.to_digit(8).unwrap_or(0);
                for _ in 0..2 {
                    let Some(digit) = chars.peek().and_then(|c| c.to_digit(8)) else { break };
                    value = value * 8 + digit;
                    chars.next();
                }
                out.push(char::from_u32(value).unwrap_or('\u{fffd}'));
            }
            'N' => return Err("escapes of the form \\N{name} are not supported".to_owned()),
            other => {
                out.push('\\');
                out.push(other);
            }
        }
    }
    Ok(out)
}
