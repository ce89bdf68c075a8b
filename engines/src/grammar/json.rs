//! JSON as it was written: numbers keep their digits, and every member of an object is there, also
//! those that share a name.
//!
//! The reader of schemas (serde_json) rounds numbers and keeps the last member of a name.

use std::borrow::Cow;

/// Arrays and objects inside one another: as many as in a schema.
pub const NESTING_MAX: usize = super::source::NESTING_MAX;

#[derive(Debug)]
pub enum Json<'a> {
    Null,
    Bool(bool),
    /// As it was written.
    Number(&'a str),
    /// Without escapes.
    String(Cow<'a, str>),
    Array(Vec<Json<'a>>),
    Object(Vec<(Cow<'a, str>, Json<'a>)>),
}

#[derive(Debug, PartialEq)]
pub enum Fault {
    NotJson,
    TooDeep,
}

/// The whole of `text`. A string with half of a surrogate pair is not JSON here: it is not Unicode.
pub fn read(text: &str) -> Result<Json<'_>, Fault> {
    let mut reader = Reader { text, at: 0, depth: 0 };
    let value = reader.value()?;
    reader.skip_blanks();
    match reader.at == text.len() {
        true => Ok(value),
        false => Err(Fault::NotJson),
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }

    fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn value(&mut self) -> Result<Json<'a>, Fault> {
        self.skip_blanks();
        match self.peek() {
            Some(b'{') => self.nested(Reader::members),
            Some(b'[') => self.nested(Reader::items),
            Some(b'"') => Ok(Json::String(self.string()?)),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true", Json::Bool(true)),
            Some(b'f') => self.word("false", Json::Bool(false)),
            Some(b'n') => self.word("null", Json::Null),
            _ => Err(Fault::NotJson),
        }
    }

    fn word(&mut self, word: &str, value: Json<'a>) -> Result<Json<'a>, Fault> {
        if !self.text[self.at..].starts_with(word) {
            return Err(Fault::NotJson);
        }
        self.at += word.len();
        Ok(value)
    }

    fn nested(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<Json<'a>, Fault>,
    ) -> Result<Json<'a>, Fault> {
        if self.depth == NESTING_MAX {
            return Err(Fault::TooDeep);
        }
        self.depth += 1;
        self.at += 1;
        self.skip_blanks();
        let value = read(self)?;
        self.depth -= 1;
        Ok(value)
    }

    fn items(&mut self) -> Result<Json<'a>, Fault> {
        let mut items = Vec::new();
        while !self.take(b']') {
            if !items.is_empty() && !self.take(b',') {
                return Err(Fault::NotJson);
            }
            items.push(self.value()?);
            self.skip_blanks();
        }
        Ok(Json::Array(items))
    }

    fn members(&mut self) -> Result<Json<'a>, Fault> {
        let mut members = Vec::new();
        while !self.take(b'}') {
            if !members.is_empty() && !self.take(b',') {
                return Err(Fault::NotJson);
            }
            self.skip_blanks();
            let name = self.string()?;
            self.skip_blanks();
            if !self.take(b':') {
                return Err(Fault::NotJson);
            }
            members.push((name, self.value()?));
            self.skip_blanks();
        }
        Ok(Json::Object(members))
    }

    /// At least one digit.
    fn digits(&mut self) -> Result<(), Fault> {
        let begin = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        match self.at > begin {
            true => Ok(()),
            false => Err(Fault::NotJson),
        }
    }

    fn number(&mut self) -> Result<Json<'a>, Fault> {
        let begin = self.at;
        self.take(b'-');
        if !self.take(b'0') {
            self.digits()?;
        }
        if self.take(b'.') {
            self.digits()?;
        }
        if self.take(b'e') || self.take(b'E') {
            let _ = self.take(b'+') || self.take(b'-');
            self.digits()?;
        }
        Ok(Json::Number(&self.text[begin..self.at]))
    }

    fn string(&mut self) -> Result<Cow<'a, str>, Fault> {
        if !self.take(b'"') {
            return Err(Fault::NotJson);
        }
        let mut decoded = Cow::Borrowed("");
        loop {
            let begin = self.at;
            while !matches!(self.peek(), None | Some(b'"' | b'\\' | 0..=0x1f)) {
                self.at += 1;
            }
            let plain = &self.text[begin..self.at];
            match decoded.is_empty() {
                true => decoded = Cow::Borrowed(plain),
                false => decoded.to_mut().push_str(plain),
            }
            if self.take(b'"') {
                return Ok(decoded);
            }
            if !self.take(b'\\') {
                return Err(Fault::NotJson);
            }
            let character = self.escape().ok_or(Fault::NotJson)?;
            decoded.to_mut().push(character);
        }
    }

    /// After the backslash.
    fn escape(&mut self) -> Option<char> {
        let letter = self.peek()?;
        self.at += 1;
        Some(match letter {
            b'"' | b'\\' | b'/' => char::from(letter),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let high = self.unit()?;
                if !(0xd800..0xdc00).contains(&high) {
                    return char::from_u32(high);
                }
                if !(self.take(b'\\') && self.take(b'u')) {
                    return None;
                }
                let low = self.unit()?.checked_sub(0xdc00).filter(|low| *low < 0x400)?;
                char::from_u32(0x10000 + ((high - 0xd800) << 10) + low)?
            }
            _ => return None,
        })
    }

    /// Four hexadecimal digits.
    fn unit(&mut self) -> Option<u32> {
        let digits = self.text.as_bytes().get(self.at..self.at + 4)?;
        self.at += 4;
        digits.iter().try_fold(0, |unit, digit| Some(unit * 16 + char::from(*digit).to_digit(16)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_serde_reads_is_read_and_what_it_refuses_is_not() {
        let texts = [
            "null",
            " true ",
            "\t[false,\n{}]\r",
            "[]",
            "[1]",
            "[1,]",
            "[,1]",
            "[1 2]",
            "{\"a\":1}",
            "{\"a\":1,}",
            "{\"a\" : 1 , \"b\" : [ ] }",
            "{a:1}",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\",1}",
            "0",
            "-0",
            "-",
            "01",
            "1.",
            ".5",
            "1.5",
            "1e5",
            "1E+5",
            "1e-05",
            "1e",
            "1e+",
            "+1",
            "-1.50e10",
            "NaN",
            "tru",
            "truex",
            "nul",
            "\"\"",
            "\"a",
            "\"a\"b",
            "\"\\u0061\\n\\/\"",
            "\"\\x\"",
            "\"\\u00\"",
            "\"\\u00g0\"",
            "\"\\ud83d\\ude00\"",
            "\"\\ud83d\"",
            "\"\\ude00\"",
            "\"\\ud83d\\u0061\"",
            "\"\u{7f}\u{e9}\u{1f600}\"",
            "\"\n\"",
            "\"\u{0}\"",
            "",
            " ",
            "[",
            "{",
            "}",
            "]",
            "[}",
            "\u{feff}1",
            "1\u{a0}",
            "\"\\",
            "\"\\u",
            "\"\\ud83d\\u\"",
            "\"\\u+123\"",
        ];
        for text in texts {
            let wanted = serde_json::from_str::<serde_json::Value>(text).ok();
            let value = read(text).ok().map(|value| serde_of(&value));
            assert_eq!(value, wanted, "{text}");
        }
    }

    fn serde_of(value: &Json) -> serde_json::Value {
        match value {
            Json::Null => serde_json::Value::Null,
            Json::Bool(value) => (*value).into(),
            Json::Number(text) => serde_json::from_str(text).unwrap(),
            Json::String(text) => text.as_ref().into(),
            Json::Array(items) => items.iter().map(serde_of).collect(),
            Json::Object(members) => {
                members.iter().map(|(name, value)| (name.as_ref(), serde_of(value))).collect()
            }
        }
    }

    #[test]
    fn numbers_keep_their_digits_and_names_come_as_often_as_they_are_written() {
        let Ok(Json::Object(members)) = read("{\"a\":1.50,\"\\u0061\":123456789012345678901}")
        else {
            panic!("an object")
        };
        let names: Vec<&str> = members.iter().map(|(name, _)| name.as_ref()).collect();
        assert_eq!(names, ["a", "a"]);
        assert!(matches!(members[0].1, Json::Number("1.50")));
        assert!(matches!(members[1].1, Json::Number("123456789012345678901")));
    }

    #[test]
    fn nesting_has_a_limit() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(read(&nested(NESTING_MAX)).is_ok());
        assert_eq!(read(&nested(NESTING_MAX + 1)).unwrap_err(), Fault::TooDeep);
        assert_eq!(read(&"{\"a\":".repeat(100_000)).unwrap_err(), Fault::TooDeep);
        assert!(read(&format!("[{}1]", "[],".repeat(1_000))).is_ok());
    }
}
