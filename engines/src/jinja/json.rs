//! JSON: the request as Python's `json.loads` reads it, and `tojson` as `json.dumps` writes it.

use super::calls::bind;
use super::error::{fail, Result};
use super::print::float;
use super::run::{CallArguments, Run};
use super::sequences::sorted;
use super::text::{code, letter, with_origin, Char, Text};
use super::value::{Dict, Value};
use std::rc::Rc;

/// Lists and objects within each other in a request.
const DEPTH_MAX: usize = 128;

pub struct Reader<'s> {
    text: &'s [u8],
    at: usize,
    /// Texts come from the request, not from the model.
    from_request: bool,
}

pub fn parse(text: &[u8], from_request: bool) -> std::result::Result<Value, String> {
    if let Err(error) = std::str::from_utf8(text) {
        return Err(format!("not UTF-8 at byte {}", error.valid_up_to()));
    }
    let mut reader = Reader { text, at: 0, from_request };
    reader.spaces();
    let value = reader.value(DEPTH_MAX)?;
    reader.spaces();
    if reader.at < text.len() {
        return reader.fail("text after the value");
    }
    Ok(value)
}

type Parsed<T> = std::result::Result<T, String>;

impl Reader<'_> {
    fn fail<T>(&self, why: &str) -> Parsed<T> {
        Err(format!("{why} at byte {}", self.at))
    }

    fn spaces(&mut self) {
        while matches!(self.text.get(self.at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn skip(&mut self, wanted: &str) -> bool {
        let found = self.text[self.at..].starts_with(wanted.as_bytes());
        if found {
            self.at += wanted.len();
        }
        found
    }

    fn value(&mut self, depth: usize) -> Parsed<Value> {
        if depth == 0 {
            return self.fail(&format!("nested deeper than {DEPTH_MAX} levels"));
        }
        match self.text.get(self.at) {
            Some(b'{') => self.object(depth - 1),
            Some(b'[') => self.array(depth - 1),
            Some(b'"') => Ok(Value::Text(self.text()?)),
            Some(b'-' | b'0'..=b'9') if !self.text[self.at..].starts_with(b"-Infinity") => {
                self.number()
            }
            _ => {
                let words = [
                    ("true", Value::Bool(true)),
                    ("false", Value::Bool(false)),
                    ("null", Value::None),
                    ("NaN", Value::Float(f64::NAN)),
                    ("Infinity", Value::Float(f64::INFINITY)),
                    ("-Infinity", Value::Float(f64::NEG_INFINITY)),
                ];
                for (word, value) in words {
                    if self.skip(word) {
                        return Ok(value);
                    }
                }
                self.fail("expected a value")
            }
        }
    }

    fn array(&mut self, depth: usize) -> Parsed<Value> {
        self.at += 1;
        let mut items = Vec::new();
        self.spaces();
        if !self.skip("]") {
            loop {
                self.spaces();
                items.push(self.value(depth)?);
                self.spaces();
                if self.skip("]") {
                    break;
                }
                if !self.skip(",") {
                    return self.fail("expected ',' or ']'");
                }
            }
        }
        Value::list(items).map_err(|error| error.message)
    }

    fn object(&mut self, depth: usize) -> Parsed<Value> {
        self.at += 1;
        let mut dict = Dict::from_pairs([]).map_err(|error| error.message)?;
        self.spaces();
        if !self.skip("}") {
            loop {
                self.spaces();
                if self.text.get(self.at) != Some(&b'"') {
                    return self.fail("expected a key");
                }
                let key = Value::Text(self.text()?);
                self.spaces();
                if !self.skip(":") {
                    return self.fail("expected ':'");
                }
                self.spaces();
                let value = self.value(depth)?;
                dict.insert(key, value).map_err(|error| error.message)?;
                self.spaces();
                if self.skip("}") {
                    break;
                }
                if !self.skip(",") {
                    return self.fail("expected ',' or '}'");
                }
            }
        }
        Ok(Value::Dict(Rc::new(dict)))
    }

    fn number(&mut self) -> Parsed<Value> {
        let begin = self.at;
        let digits = |reader: &mut Self| {
            let from = reader.at;
            while reader.text.get(reader.at).is_some_and(u8::is_ascii_digit) {
                reader.at += 1;
            }
            reader.at - from
        };
        self.skip("-");
        let whole = self.at;
        let count = digits(self);
        if count == 0 || (count > 1 && self.text[whole] == b'0') {
            self.at = begin;
            return self.fail("not a number");
        }
        let mut is_float = false;
        if self.text.get(self.at) == Some(&b'.') {
            self.at += 1;
            is_float = true;
            if digits(self) == 0 {
                return self.fail("expected digits");
            }
        }
        if matches!(self.text.get(self.at), Some(b'e' | b'E')) {
            self.at += 1;
            is_float = true;
            if matches!(self.text.get(self.at), Some(b'+' | b'-')) {
                self.at += 1;
            }
            if digits(self) == 0 {
                return self.fail("expected digits");
            }
        }
        let text = String::from_utf8_lossy(&self.text[begin..self.at]).into_owned();
        if is_float {
            return Ok(Value::Float(text.parse().unwrap_or(f64::NAN)));
        }
        match text.parse() {
            Ok(value) => Ok(Value::Int(value)),
            Err(_) => self.fail("an integer larger than 127 bits ends"),
        }
    }

    fn text(&mut self) -> Parsed<Text> {
        self.at += 1;
        let mut out: Vec<u8> = Vec::new();
        loop {
            match self.text.get(self.at) {
                Some(b'"') => break,
                Some(b'\\') => self.escape(&mut out)?,
                Some(byte) if *byte < 0x20 => return self.fail("a control character in a string"),
                Some(byte) => {
                    out.push(*byte);
                    self.at += 1;
                }
                None => return self.fail("a string without an end"),
            }
        }
        self.at += 1;
        let text = String::from_utf8(out).map_err(|error| error.to_string())?;
        Ok(if self.from_request { Text::from_request(&text) } else { Text::plain(&text) })
    }

    fn escape(&mut self, out: &mut Vec<u8>) -> Parsed<()> {
        let plain = match self.text.get(self.at + 1) {
            Some(each @ (b'"' | b'\\' | b'/')) => *each,
            Some(b'b') => 8,
            Some(b'f') => 12,
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b't') => b'\t',
            Some(b'u') => {
                let first = self.unit(self.at + 2)?;
                let mut value = first;
                let mut taken = 6;
                if (0xd800..0xdc00).contains(&first) && self.text[self.at + 6..].starts_with(b"\\u")
                {
                    let second = self.unit(self.at + 8)?;
                    if (0xdc00..0xe000).contains(&second) {
                        value = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                        taken = 12;
                    }
                }
                let Some(each) = char::from_u32(value) else {
                    return self.fail("half of a surrogate pair");
                };
                self.at += taken;
                out.extend_from_slice(each.encode_utf8(&mut [0; 4]).as_bytes());
                return Ok(());
            }
            _ => return self.fail("an unknown escape"),
        };
        out.push(plain);
        self.at += 2;
        Ok(())
    }

    fn unit(&self, at: usize) -> Parsed<u32> {
        let digits = self.text.get(at..at + 4).and_then(|hex| std::str::from_utf8(hex).ok());
        match digits.filter(|hex| hex.bytes().all(|b| b.is_ascii_hexdigit())) {
            Some(hex) => Ok(u32::from_str_radix(hex, 16).unwrap_or(0)),
            None => self.fail("expected four hexadecimal digits"),
        }
    }
}

/// `json.dumps(value, ensure_ascii=…, indent=…, separators=…, sort_keys=…)`.
pub fn to_json(run: &Run, value: &Value, arguments: CallArguments) -> Result<Value> {
    let names = ["ensure_ascii", "indent", "separators", "sort_keys"];
    let bound = bind("tojson", arguments, &names, 0)?;
    let indent: Option<Vec<Char>> = match bound.get(1) {
        None | Some(Value::None) => None,
        Some(Value::Text(text)) => Some(text.chars().to_vec()),
        Some(other) => match other.as_int() {
            Some(count) => {
                let count = usize::try_from(count.max(0)).unwrap_or(usize::MAX);
                run.budget.characters(count)?;
                Some(vec![' ' as u32; count])
            }
            None => return fail!("tojson: indent is a '{}'", other.type_name()),
        },
    };
    let default_item = if indent.is_some() { "," } else { ", " };
    let (item, key) = match bound.get(2) {
        None | Some(Value::None) => (Text::plain(default_item), Text::plain(": ")),
        Some(pair) => match pair.items().map(|items| &items.values[..]) {
            Some([Value::Text(item), Value::Text(key)]) => (item.clone(), key.clone()),
            _ => return fail!("tojson: separators must be two strings"),
        },
    };
    let (sort_keys, ascii) = (bound.is_true(3), bound.is_true(0));
    let writer = Writer { run, indent, item, key, sort_keys, ascii };
    let mut out = Vec::new();
    writer.write(value, 0, &mut out)?;
    Ok(Value::Text(Text::new(out)))
}

struct Writer<'r> {
    run: &'r Run<'r>,
    indent: Option<Vec<Char>>,
    item: Text,
    key: Text,
    sort_keys: bool,
    ascii: bool,
}

fn put(out: &mut Vec<Char>, text: &str) {
    out.extend(text.chars().map(|c| c as u32));
}

impl Writer<'_> {
    fn write(&self, value: &Value, depth: usize, out: &mut Vec<Char>) -> Result<()> {
        self.run.budget.characters(8)?;
        self.run.budget.step()?;
        match value {
            Value::None => put(out, "null"),
            Value::Bool(value) => put(out, if *value { "true" } else { "false" }),
            Value::Int(value) => put(out, &value.to_string()),
            Value::Float(value) => put(out, &json_float(*value)),
            Value::Text(text) => self.quote(text, out)?,
            Value::Dict(dict) => {
                let mut entries = dict.entries().to_vec();
                if self.sort_keys {
                    entries = sorted(self.run, entries, &|entry| entry.0.clone(), false)?;
                }
                self.list('{', '}', entries.len(), depth, out, |index, out| {
                    let (key, value) = &entries[index];
                    self.quote(&self.key_text(key)?, out)?;
                    out.extend_from_slice(self.key.chars());
                    self.write(value, depth + 1, out)
                })?;
            }
            Value::List(items) | Value::Tuple(items) | Value::Group(items) => {
                self.list('[', ']', items.values.len(), depth, out, |index, out| {
                    self.write(&items.values[index], depth + 1, out)
                })?;
            }
            other => return fail!("Object of type {} is not JSON serializable", other.type_name()),
        }
        Ok(())
    }

    fn key_text(&self, key: &Value) -> Result<Text> {
        Ok(match key {
            Value::Text(text) => text.clone(),
            Value::None => Text::plain("null"),
            Value::Bool(value) => Text::plain(if *value { "true" } else { "false" }),
            Value::Int(value) => Text::plain(&value.to_string()),
            Value::Float(value) => Text::plain(&json_float(*value)),
            other => {
                return fail!(
                    "keys must be str, int, float, bool or None, not {}",
                    other.type_name()
                )
            }
        })
    }

    fn list(
        &self,
        open: char,
        close: char,
        count: usize,
        depth: usize,
        out: &mut Vec<Char>,
        mut each: impl FnMut(usize, &mut Vec<Char>) -> Result<()>,
    ) -> Result<()> {
        out.push(open as u32);
        for index in 0..count {
            if index > 0 {
                self.run.budget.characters(self.item.len())?;
                out.extend_from_slice(self.item.chars());
            }
            self.line(depth + 1, out)?;
            self.run.budget.nested(|| each(index, out))?;
        }
        if count > 0 {
            self.line(depth, out)?;
        }
        out.push(close as u32);
        Ok(())
    }

    fn line(&self, depth: usize, out: &mut Vec<Char>) -> Result<()> {
        if let Some(indent) = &self.indent {
            self.run.budget.characters(indent.len() * depth + 1)?;
            out.push('\n' as u32);
            for _ in 0..depth {
                out.extend_from_slice(indent);
            }
        }
        Ok(())
    }

    fn quote(&self, text: &Text, out: &mut Vec<Char>) -> Result<()> {
        self.run.budget.characters(text.len() * 2)?;
        out.push('"' as u32);
        for c in text.chars() {
            let escape = match letter(*c) {
                '"' => "\\\"".to_owned(),
                '\\' => "\\\\".to_owned(),
                '\n' => "\\n".to_owned(),
                '\r' => "\\r".to_owned(),
                '\t' => "\\t".to_owned(),
                '\u{8}' => "\\b".to_owned(),
                '\u{c}' => "\\f".to_owned(),
                each if code(*c) < 0x20 || (self.ascii && code(*c) > 0x7e) => {
                    let mut units = [0; 2];
                    let units = each.encode_utf16(&mut units).iter();
                    units.map(|unit| format!("\\u{unit:04x}")).collect()
                }
                _ => {
                    out.push(*c);
                    continue;
                }
            };
            out.extend(escape.chars().map(|each| with_origin(each, *c)));
        }
        out.push('"' as u32);
        Ok(())
    }
}

fn json_float(value: f64) -> String {
    match float(value).as_str() {
        "nan" => "NaN".to_owned(),
        "inf" => "Infinity".to_owned(),
        "-inf" => "-Infinity".to_owned(),
        plain => plain.to_owned(),
    }
}
