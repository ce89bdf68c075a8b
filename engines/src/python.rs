//! Where a template sees Python: how values print, `json.dumps` and `strftime`.

use minijinja::value::{Kwargs, Value, ValueKind};
use minijinja::{Error, ErrorKind};

/// Nesting of printed values; a template can build deeper ones only on purpose.
const DEPTH_MAX: usize = 100;

/// `str(value)`.
pub fn text(value: &Value) -> String {
    match value.as_str() {
        Some(text) => text.to_owned(),
        None if value.is_undefined() => String::new(),
        None => {
            let mut out = String::new();
            repr(value, DEPTH_MAX, &mut out);
            out
        }
    }
}

fn repr(value: &Value, depth: usize, out: &mut String) {
    if depth == 0 {
        out.push_str("...");
        return;
    }
    match value.kind() {
        ValueKind::Bool => out.push_str(if value.is_true() { "True" } else { "False" }),
        ValueKind::None => out.push_str("None"),
        ValueKind::String => repr_string(value.as_str().unwrap_or_default(), out),
        ValueKind::Number => out.push_str(&number(value)),
        ValueKind::Seq => {
            out.push('[');
            for (index, item) in value.try_iter().into_iter().flatten().enumerate() {
                out.push_str(if index > 0 { ", " } else { "" });
                repr(&item, depth - 1, out);
            }
            out.push(']');
        }
        ValueKind::Map => {
            out.push('{');
            for (index, key) in value.try_iter().into_iter().flatten().enumerate() {
                out.push_str(if index > 0 { ", " } else { "" });
                repr(&key, depth - 1, out);
                out.push_str(": ");
                repr(&value.get_item(&key).unwrap_or_default(), depth - 1, out);
            }
            out.push('}');
        }
        _ => out.push_str(&value.to_string()),
    }
}

fn repr_string(text: &str, out: &mut String) {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    out.push(quote);
    for character in text.chars() {
        match character {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\\' => out.push_str("\\\\"),
            c if c == quote => {
                out.push('\\');
                out.push(c);
            }
            c if (c as u32) < 0x20 || c as u32 == 0x7f => {
                out.push_str(&format!("\\x{:02x}", c as u32));
            }
            c => out.push(c),
        }
    }
    out.push(quote);
}

/// `repr` of an int or a float: 1.0, 1e+16, 1e-05.
fn number(value: &Value) -> String {
    let float = match f64::try_from(value.clone()) {
        Ok(float) if !value.is_integer() => float,
        _ => return value.to_string(),
    };
    if !float.is_finite() {
        return if float.is_nan() {
            "nan"
        } else if float > 0.0 {
            "inf"
        } else {
            "-inf"
        }
        .to_owned();
    }
    let size = float.abs();
    if size != 0.0 && !(1e-4..1e16).contains(&size) {
        let scientific = format!("{float:e}");
        let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
        let (sign, exponent) = match exponent.strip_prefix('-') {
            Some(exponent) => ('-', exponent),
            None => ('+', exponent),
        };
        return format!("{digits}e{sign}{exponent:0>2}");
    }
    format!("{float:?}")
}

/// `json.dumps(value, ensure_ascii=False, indent=…, separators=…, sort_keys=…)`.
pub fn tojson(value: &Value, indent: Option<Value>, options: Kwargs) -> Result<String, Error> {
    let indent = match indent {
        Some(indent) => Some(indent),
        None => options.get::<Option<Value>>("indent")?,
    };
    let indent = match indent {
        Some(indent) if !indent.is_none() && !indent.is_undefined() => {
            Some(usize::try_from(indent)?.min(16))
        }
        _ => None,
    };
    let separators: Option<Vec<String>> = options.get("separators")?;
    let default_item = if indent.is_some() { "," } else { ", " };
    let (item, key) = match separators.as_deref() {
        Some([item, key]) => (item.clone(), key.clone()),
        Some(_) => {
            return Err(Error::new(ErrorKind::InvalidOperation, "separators must be two strings"))
        }
        None => (default_item.to_owned(), ": ".to_owned()),
    };
    let sort_keys = options.get::<Option<bool>>("sort_keys")?.unwrap_or(false);
    let ascii = options.get::<Option<bool>>("ensure_ascii")?.unwrap_or(false);
    options.assert_all_used()?;
    let style = Style { indent, item, key, sort_keys, ascii };
    let mut out = String::new();
    style.write(value, 0, &mut out)?;
    Ok(out)
}

struct Style {
    indent: Option<usize>,
    item: String,
    key: String,
    sort_keys: bool,
    ascii: bool,
}

impl Style {
    fn write(&self, value: &Value, depth: usize, out: &mut String) -> Result<(), Error> {
        if depth > DEPTH_MAX {
            return Err(Error::new(ErrorKind::InvalidOperation, "tojson: nested too deeply"));
        }
        match value.kind() {
            ValueKind::None => out.push_str("null"),
            ValueKind::Undefined => {
                return Err(Error::new(ErrorKind::InvalidOperation, "tojson of an undefined value"))
            }
            ValueKind::Bool => out.push_str(if value.is_true() { "true" } else { "false" }),
            ValueKind::Number => out.push_str(&match number(value).as_str() {
                "nan" => "NaN".to_owned(),
                "inf" => "Infinity".to_owned(),
                "-inf" => "-Infinity".to_owned(),
                plain => plain.to_owned(),
            }),
            ValueKind::String => self.quote(value.as_str().unwrap_or_default(), out),
            ValueKind::Map => {
                let mut keys: Vec<Value> = value.try_iter()?.collect();
                if self.sort_keys {
                    keys.sort();
                }
                self.list('{', '}', keys.len(), depth, out, |index, out| {
                    self.quote(&text(&keys[index]), out);
                    out.push_str(&self.key);
                    self.write(&value.get_item(&keys[index])?, depth + 1, out)
                })?;
            }
            ValueKind::Seq | ValueKind::Iterable => {
                let items: Vec<Value> = value.try_iter()?.collect();
                self.list('[', ']', items.len(), depth, out, |index, out| {
                    self.write(&items[index], depth + 1, out)
                })?;
            }
            kind => {
                return Err(Error::new(ErrorKind::InvalidOperation, format!("tojson of a {kind}")))
            }
        }
        Ok(())
    }

    fn list(
        &self,
        open: char,
        close: char,
        count: usize,
        depth: usize,
        out: &mut String,
        mut each: impl FnMut(usize, &mut String) -> Result<(), Error>,
    ) -> Result<(), Error> {
        out.push(open);
        for index in 0..count {
            out.push_str(if index > 0 { &self.item } else { "" });
            self.line(depth + 1, out);
            each(index, out)?;
        }
        if count > 0 {
            self.line(depth, out);
        }
        out.push(close);
        Ok(())
    }

    fn line(&self, depth: usize, out: &mut String) {
        if let Some(indent) = self.indent {
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', indent * depth));
        }
    }

    fn quote(&self, text: &str, out: &mut String) {
        out.push('"');
        for character in text.chars() {
            match character {
                '"' => out.push_str("\\\""),
                '\\' => out.push_str("\\\\"),
                '\n' => out.push_str("\\n"),
                '\r' => out.push_str("\\r"),
                '\t' => out.push_str("\\t"),
                '\u{8}' => out.push_str("\\b"),
                '\u{c}' => out.push_str("\\f"),
                c if (c as u32) < 0x20 => out.push_str(&format!("\\u{:04x}", c as u32)),
                c if self.ascii && !c.is_ascii() => {
                    for unit in c.encode_utf16(&mut [0; 2]) {
                        out.push_str(&format!("\\u{unit:04x}"));
                    }
                }
                c => out.push(c),
            }
        }
        out.push('"');
    }
}

/// Jinja's `is iterable`: none is not, an undefined value is.
pub fn is_iterable(value: &Value) -> bool {
    use ValueKind::{Iterable, Map, Seq, String, Undefined};
    matches!(value.kind(), Seq | Map | String | Iterable | Undefined)
}

/// Jinja's `is sequence`: what has a length and items, strings and mappings included.
pub fn is_sequence(value: &Value) -> bool {
    matches!(value.kind(), ValueKind::Seq | ValueKind::Map | ValueKind::String)
}

/// `datetime.now().strftime(format)` for the given second, in the machine's time zone.
pub fn strftime(format: &str, now_unix_seconds: i64) -> Result<String, Error> {
    let refuse =
        |why: &str| Error::new(ErrorKind::InvalidOperation, format!("strftime_now: {why}"));
    if format.is_empty() {
        return Ok(String::new());
    }
    let format =
        std::ffi::CString::new(format).map_err(|_| refuse("the format holds a zero byte"))?;
    let mut buffer = [0u8; 1024];
    let written = unsafe {
        let mut parts: libc::tm = std::mem::zeroed();
        if libc::localtime_r(&now_unix_seconds, &mut parts).is_null() {
            return Err(refuse("the clock is out of range"));
        }
        libc::strftime(buffer.as_mut_ptr().cast(), buffer.len(), format.as_ptr(), &parts)
    };
    if written == 0 {
        return Err(refuse("the result is longer than 1 KiB"));
    }
    String::from_utf8(buffer[..written].to_vec()).map_err(|_| refuse("the result is not UTF-8"))
}
