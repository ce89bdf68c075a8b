//! JSON, read and written.
use crate::{Error, Result};
use std::fmt::{self, Write};
use std::ops::Index;

/// A JSON value. A number keeps its digits. Of what it is not it gives the empty one: a number as text is "",
/// a member that is not there is null. Of several members of one name the last counts.
///
/// ```
/// use quire::Json;
/// let json = Json::parse(r#"{"city": "Lima", "days": [1, 2]}"#).unwrap();
/// assert_eq!(json["city"].text(), "Lima");
/// assert_eq!(json["days"][1].number(), Some(2.0));
/// assert!(json["none"].is_null());
/// let answer = Json::object([("ok", true.into()), ("text", "a \"b\"".into())]);
/// assert_eq!(answer.to_string(), r#"{"ok":true,"text":"a \"b\""}"#);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Json {
    /// Null, or a value that is not there.
    #[default]
    Null,
    /// True or false.
    Boolean(bool),
    /// The digits of a number, as they were written.
    Number(String),
    /// A text.
    Text(String),
    /// A list of values.
    Array(Vec<Json>),
    /// Members in their order.
    Object(Vec<(String, Json)>),
}

static NULL: Json = Json::Null;
const DEPTH_MAX: usize = 128;

impl Json {
    /// Reads a text that is one value. `invalid-argument` says what was expected, and where.
    pub fn parse(text: &str) -> Result<Json> {
        let mut parser = Parser { text: text.as_bytes(), at: 0 };
        let value = parser.value(0)?;
        parser.skip_blanks();
        if parser.at < text.len() {
            return parser.fail("the end of the text");
        }
        Ok(value)
    }

    /// Values one after the other, with nothing but blanks between them.
    pub(crate) fn parse_several(text: &str) -> Result<Vec<Json>> {
        let mut parser = Parser { text: text.as_bytes(), at: 0 };
        let mut values = Vec::new();
        loop {
            parser.skip_blanks();
            if parser.at == text.len() {
                return Ok(values);
            }
            values.push(parser.value(0)?);
        }
    }

    /// An object of these members.
    pub fn object<N: Into<String>>(members: impl IntoIterator<Item = (N, Json)>) -> Json {
        Json::Object(members.into_iter().map(|(name, value)| (name.into(), value)).collect())
    }

    /// Whether it is null, or was not there.
    pub fn is_null(&self) -> bool {
        *self == Json::Null
    }
    /// A text; empty for what is none.
    pub fn text(&self) -> &str {
        match self {
            Json::Text(text) => text,
            _ => "",
        }
    }
    /// Whether it is a text.
    pub fn is_text(&self) -> bool {
        matches!(self, Json::Text(_))
    }
    /// A number.
    pub fn number(&self) -> Option<f64> {
        match self {
            Json::Number(digits) => digits.parse().ok().filter(|number: &f64| number.is_finite()),
            _ => None,
        }
    }
    /// True; false for what is not true.
    pub fn boolean(&self) -> bool {
        *self == Json::Boolean(true)
    }
    /// The values of an array; none for what is none.
    pub fn items(&self) -> &[Json] {
        match self {
            Json::Array(items) => items,
            _ => &[],
        }
    }
    /// The members of an object; none for what is none.
    pub fn members(&self) -> &[(String, Json)] {
        match self {
            Json::Object(members) => members,
            _ => &[],
        }
    }
    /// The member of that name.
    pub fn get(&self, name: &str) -> Option<&Json> {
        self.members().iter().rev().find(|(each, _)| each == name).map(|(_, value)| value)
    }
}

impl Index<&str> for Json {
    type Output = Json;
    fn index(&self, name: &str) -> &Json {
        self.get(name).unwrap_or(&NULL)
    }
}
impl Index<usize> for Json {
    type Output = Json;
    fn index(&self, number: usize) -> &Json {
        self.items().get(number).unwrap_or(&NULL)
    }
}

impl From<bool> for Json {
    fn from(value: bool) -> Json {
        Json::Boolean(value)
    }
}
impl From<&str> for Json {
    fn from(text: &str) -> Json {
        Json::Text(text.to_string())
    }
}
impl From<String> for Json {
    fn from(text: String) -> Json {
        Json::Text(text)
    }
}
impl From<f64> for Json {
    /// One that is not finite becomes null.
    fn from(number: f64) -> Json {
        if number.is_finite() {
            Json::Number(number.to_string())
        } else {
            Json::Null
        }
    }
}
impl<T: Into<Json>> From<Vec<T>> for Json {
    fn from(items: Vec<T>) -> Json {
        Json::Array(items.into_iter().map(Into::into).collect())
    }
}
macro_rules! from_whole {
    ($($kind:ty),*) => {$(
        impl From<$kind> for Json {
            fn from(number: $kind) -> Json {
                Json::Number(number.to_string())
            }
        }
    )*};
}
from_whole!(u32, i32, u64, i64, usize);

impl fmt::Display for Json {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Json::Null => to.write_str("null"),
            Json::Boolean(value) => write!(to, "{value}"),
            Json::Number(digits) => to.write_str(digits),
            Json::Text(text) => write_text(to, text),
            Json::Array(items) => {
                to.write_char('[')?;
                for (number, each) in items.iter().enumerate() {
                    write!(to, "{}{each}", if number == 0 { "" } else { "," })?;
                }
                to.write_char(']')
            }
            Json::Object(members) => {
                to.write_char('{')?;
                for (number, (name, each)) in members.iter().enumerate() {
                    to.write_str(if number == 0 { "" } else { "," })?;
                    write_text(to, name)?;
                    write!(to, ":{each}")?;
                }
                to.write_char('}')
            }
        }
    }
}

fn write_text(to: &mut impl Write, text: &str) -> fmt::Result {
    to.write_char('"')?;
    for each in text.chars() {
        match each {
            '"' => to.write_str("\\\"")?,
            '\\' => to.write_str("\\\\")?,
            '\n' => to.write_str("\\n")?,
            '\r' => to.write_str("\\r")?,
            '\t' => to.write_str("\\t")?,
            each if (each as u32) < 0x20 => write!(to, "\\u{:04x}", each as u32)?,
            each => to.write_char(each)?,
        }
    }
    to.write_char('"')
}

/// `text` as JSON writes it.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::new();
    write_text(&mut out, text).expect("a String takes what is written");
    out
}

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
}

impl Parser<'_> {
    fn fail<T>(&self, wanted: &str) -> Result<T> {
        Err(Error::invalid(format!("JSON: {wanted} was expected at byte {}", self.at)))
    }
    fn skip_blanks(&mut self) {
        while matches!(self.text.get(self.at), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }
    fn accept(&mut self, wanted: &str) -> bool {
        let found = self.text[self.at..].starts_with(wanted.as_bytes());
        self.at += if found { wanted.len() } else { 0 };
        found
    }

    fn value(&mut self, depth: usize) -> Result<Json> {
        if depth > DEPTH_MAX {
            return self.fail("at most 128 arrays and objects in one another");
        }
        self.skip_blanks();
        match self.text.get(self.at) {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => self.string().map(Json::Text),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ if self.accept("true") => Ok(Json::Boolean(true)),
            _ if self.accept("false") => Ok(Json::Boolean(false)),
            _ if self.accept("null") => Ok(Json::Null),
            _ => self.fail("a value"),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json> {
        let mut members = Vec::new();
        self.at += 1;
        self.skip_blanks();
        if self.accept("}") {
            return Ok(Json::Object(members));
        }
        loop {
            self.skip_blanks();
            if self.text.get(self.at) != Some(&b'"') {
                return self.fail("the name of a member");
            }
            let name = self.string()?;
            self.skip_blanks();
            if !self.accept(":") {
                return self.fail("\":\"");
            }
            members.push((name, self.value(depth + 1)?));
            self.skip_blanks();
            if self.accept("}") {
                return Ok(Json::Object(members));
            }
            if !self.accept(",") {
                return self.fail("\",\" or \"}\"");
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<Json> {
        let mut items = Vec::new();
        self.at += 1;
        self.skip_blanks();
        if self.accept("]") {
            return Ok(Json::Array(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            self.skip_blanks();
            if self.accept("]") {
                return Ok(Json::Array(items));
            }
            if !self.accept(",") {
                return self.fail("\",\" or \"]\"");
            }
        }
    }

    fn digits(&mut self) -> bool {
        let first = self.at;
        while matches!(self.text.get(self.at), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        self.at > first
    }

    fn number(&mut self) -> Result<Json> {
        let first = self.at;
        self.accept("-");
        if !self.accept("0") && !self.digits() {
            return self.fail("a digit");
        }
        if self.accept(".") && !self.digits() {
            return self.fail("a digit");
        }
        if self.accept("e") || self.accept("E") {
            let _ = self.accept("+") || self.accept("-");
            if !self.digits() {
                return self.fail("a digit");
            }
        }
        let digits = std::str::from_utf8(&self.text[first..self.at]).expect("digits are ASCII");
        Ok(Json::Number(digits.to_string()))
    }

    fn string(&mut self) -> Result<String> {
        let mut out = Vec::new();
        self.at += 1;
        loop {
            let Some(&byte) = self.text.get(self.at) else { return self.fail("the end of a text") };
            match byte {
                b'"' => {
                    self.at += 1;
                    return Ok(String::from_utf8(out).expect("whole characters were copied"));
                }
                b'\\' => self.escape(&mut out)?,
                0..=0x1f => return self.fail("an escape, as a text holds no control characters,"),
                _ => {
                    out.push(byte);
                    self.at += 1;
                }
            }
        }
    }

    fn escape(&mut self, out: &mut Vec<u8>) -> Result<()> {
        self.at += 1;
        let plain = match self.text.get(self.at) {
            Some(b'"') => b'"',
            Some(b'\\') => b'\\',
            Some(b'/') => b'/',
            Some(b'b') => 8,
            Some(b'f') => 12,
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b't') => b'\t',
            Some(b'u') => return self.unicode_escape(out),
            _ => return self.fail("an escape"),
        };
        self.at += 1;
        out.push(plain);
        Ok(())
    }

    fn unicode_escape(&mut self, out: &mut Vec<u8>) -> Result<()> {
        let mut unit = self.hex_digits()?;
        if (0xd800..0xdc00).contains(&unit) && self.text[self.at..].starts_with(b"\\u") {
            let before = self.at;
            self.at += 1;
            let low = self.hex_digits()?;
            if (0xdc00..0xe000).contains(&low) {
                unit = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
            } else {
                self.at = before;
            }
        }
        let character = char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER);
        out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        Ok(())
    }

    /// Reads the digits of "uXXXX", at the u.
    fn hex_digits(&mut self) -> Result<u32> {
        let digits =
            self.text.get(self.at + 1..self.at + 5).and_then(|each| std::str::from_utf8(each).ok());
        let is_hex = |text: &&str| text.bytes().all(|each| each.is_ascii_hexdigit());
        match digits.filter(is_hex).and_then(|text| u32::from_str_radix(text, 16).ok()) {
            Some(unit) => {
                self.at += 5;
                Ok(unit)
            }
            None => self.fail("four hexadecimal digits"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_written_the_same() {
        for text in [
            "null",
            "true",
            "-1.50e+3",
            "[]",
            "{}",
            r#"[1,[2,{"a":null}]]"#,
            r#""\"\\\n\u0001""#,
            r#"{"a":1,"b":"ü€😀"}"#,
        ] {
            assert_eq!(Json::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(
            Json::parse("\"\\ud83d\\ude00 \\ud83d \\u00e9\\/\"").unwrap().text(),
            "😀 \u{fffd} é/"
        );
    }

    #[test]
    fn what_is_no_json_is_refused_with_its_place() {
        for text in [
            "",
            "{",
            "[1,]",
            "{\"a\" 1}",
            "01",
            "1.",
            "\"a",
            "\"\\x\"",
            "tru",
            "1 2",
            "\"\n\"",
            "\"\\u12g4\"",
        ] {
            let error = Json::parse(text).unwrap_err();
            assert!(error.message.contains("at byte"), "{text}: {error}");
        }
        assert!(Json::parse(&"[".repeat(100_000)).unwrap_err().message.contains("128"));
    }

    #[test]
    fn the_last_of_several_members_counts() {
        let json = Json::parse(r#"{"a":1,"a":2}"#).unwrap();
        assert_eq!(json["a"].number(), Some(2.0));
        assert_eq!(json["a"]["b"][3].text(), "");
    }
}
