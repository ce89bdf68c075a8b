//! Chat templates: a model's own Jinja, in the environment that Hugging Face's code gives it.
//!
//! A rendered prompt is later cut at special tokens. What a user wrote must never become one, so
//! `render` also says which bytes of its output are users' characters that could take part in a
//! special token. It finds them by rendering again with each such character replaced by a private
//! twin, which a template passes through like any other character.

use crate::boundary::{guard, Bytes, Failure, Offsets, Outcome, Status, Text};
use crate::python;
use minijinja::value::Value;
use minijinja::{Environment, Error, ErrorKind, UndefinedBehavior};
use serde_json::Value as Json;
use std::collections::{BTreeMap, HashSet};
use std::io;

/// Instructions of one rendering: under a second, and far above any conversation's need.
const FUEL: u64 = 20_000_000;
const OUTPUT_BYTES_MAX: usize = 64 << 20;
const NAME: &str = "chat_template";

pub struct Template {
    environment: Environment<'static>,
    private_use: HashSet<char>,
}

/// What one rendering needs; `quire_render_request` in the header.
#[repr(C)]
pub struct RenderRequest {
    request: Bytes,
    variables: Bytes,
    now_unix_seconds: i64,
    shielded: *const Bytes,
    shielded_count: usize,
}

#[repr(C)]
pub struct Rendered {
    text: Text,
    shielded_offsets: Offsets,
}

/// A character of special tokens and the one that stands for it where a user wrote it.
struct Twin {
    character: char,
    stand_in: char,
}

impl Template {
    fn compile(source: &str) -> Outcome<Self> {
        let source = without_generation_tags(source);
        let mut environment = Environment::new();
        environment.set_trim_blocks(true);
        environment.set_lstrip_blocks(true);
        environment.set_undefined_behavior(UndefinedBehavior::Lenient);
        environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
        environment
            .set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
        environment.set_formatter(|out, _, value| {
            out.write_str(&python::text(value)).map_err(Error::from)
        });
        environment.set_fuel(Some(FUEL));
        environment.add_filter("tojson", python::tojson);
        environment.add_filter("string", |value: &Value| python::text(value));
        environment.add_test("iterable", python::is_iterable);
        environment.add_test("sequence", python::is_sequence);
        environment.add_function("raise_exception", |message: &Value| -> Result<Value, Error> {
            Err(Error::new(ErrorKind::InvalidOperation, python::text(message)))
        });
        let private_use = source.chars().filter(|c| is_private_use(*c)).collect();
        environment
            .add_template_owned(NAME, source)
            .map_err(|error| Failure::invalid(format!("chat template: {}", describe(&error))))?;
        Ok(Template { environment, private_use })
    }

    unsafe fn render(&self, call: &RenderRequest) -> Outcome<(String, Vec<usize>)> {
        let request: Json = serde_json::from_slice(call.request.as_slice())
            .map_err(|error| Failure::invalid(format!("chat request: {error}")))?;
        if !request["messages"].is_array() {
            return Err(Failure::invalid("chat request: \"messages\" must be an array"));
        }
        let variables: Json = serde_json::from_slice(call.variables.as_slice())
            .map_err(|error| Failure::invalid(format!("template variables: {error}")))?;
        let shielded = if call.shielded_count == 0 {
            &[]
        } else {
            std::slice::from_raw_parts(call.shielded, call.shielded_count)
        };
        let mut tokens = Vec::with_capacity(shielded.len());
        for token in shielded {
            tokens.push(token.as_str("a special token")?);
        }
        let run = |request: &Json| self.run(request, &variables, call.now_unix_seconds);
        let plain = run(&request)?;
        let Some(twins) = self.twins(&request, &tokens) else {
            return Ok((plain, Vec::new()));
        };

        // First every such character that a user wrote, so that no two strings of theirs can be
        // joined to a token. A template that looks for one of them ("</think>" in content) may then
        // write something else; then only the tokens that users spelled in full.
        let all = map_strings(&request, &|text| stand_ins(text, &twins));
        if let Ok(rendered) = run(&all) {
            let (text, offsets) = restore(&rendered, &twins);
            if text == plain {
                return Ok((text, offsets));
            }
        }
        let whole = map_strings(&request, &|text| {
            tokens.iter().fold(text.to_owned(), |text, token| {
                if text.contains(token) {
                    text.replace(token, &stand_ins(token, &twins))
                } else {
                    text
                }
            })
        });
        Ok(restore(&run(&whole)?, &twins))
    }

    fn run(&self, request: &Json, variables: &Json, now: i64) -> Outcome<String> {
        let mut context: BTreeMap<String, Value> = BTreeMap::new();
        // As Hugging Face calls it: these are defined even where the caller gives none.
        context.insert("tools".into(), Value::from(()));
        context.insert("documents".into(), Value::from(()));
        context.insert("add_generation_prompt".into(), Value::from(false));
        for source in [request, variables] {
            let Some(entries) = source.as_object() else { continue };
            for (key, value) in entries {
                context.insert(key.clone(), Value::from_serialize(value));
            }
        }
        context.insert(
            "strftime_now".into(),
            Value::from_function(move |format: &str| -> Result<String, Error> {
                python::strftime(format, now)
            }),
        );
        let template = self
            .environment
            .get_template(NAME)
            .map_err(|error| Failure::invalid(format!("chat template: {}", describe(&error))))?;
        let mut output = Bounded { bytes: Vec::new() };
        template
            .render_captured_to(Value::from_iter(context), &mut output)
            .map_err(|error| Failure::invalid(format!("chat template: {}", describe(&error))))?;
        String::from_utf8(output.bytes)
            .map_err(|error| Failure::new(Status::Internal, format!("chat template: {error}")))
    }

    /// A stand-in for each token's telling character; none where no user's string holds one.
    fn twins(&self, request: &Json, tokens: &[&str]) -> Option<Vec<Twin>> {
        let mut wanted: Vec<char> =
            tokens.iter().filter_map(|token| telling_character(token)).collect();
        wanted.sort_unstable();
        wanted.dedup();
        let mut used = self.private_use.clone();
        let mut present = false;
        each_string(request, &mut |text| {
            present = present || text.contains(&wanted[..]);
            used.extend(text.chars().filter(|c| is_private_use(*c)));
        });
        if !present {
            return None;
        }
        let mut free = ('\u{100000}'..='\u{10fffd}').filter(|c| !used.contains(c));
        Some(
            wanted
                .into_iter()
                .map(|character| Twin { character, stand_in: free.next().unwrap_or('\u{fffd}') })
                .collect(),
        )
    }
}

fn is_private_use(character: char) -> bool {
    character >= '\u{100000}'
}

/// A character without which a text is not this token; one that templates seldom look for.
fn telling_character(token: &str) -> Option<char> {
    token
        .chars()
        .find(|c| matches!(c, '|' | '｜'))
        .or_else(|| token.chars().find(|c| !c.is_alphanumeric() && !c.is_whitespace()))
        .or_else(|| token.chars().next())
}

fn stand_ins(text: &str, twins: &[Twin]) -> String {
    text.chars()
        .map(|c| twins.iter().find(|twin| twin.character == c).map_or(c, |twin| twin.stand_in))
        .collect()
}

/// Puts the characters back and says where they are.
fn restore(rendered: &str, twins: &[Twin]) -> (String, Vec<usize>) {
    let mut text = String::with_capacity(rendered.len());
    let mut offsets = Vec::new();
    for character in rendered.chars() {
        match twins.iter().find(|twin| twin.stand_in == character) {
            Some(twin) => {
                offsets.push(text.len());
                text.push(twin.character);
            }
            None => text.push(character),
        }
    }
    (text, offsets)
}

/// serde_json bounds the depth of what it parses (128), and so of this recursion.
fn each_string(value: &Json, each: &mut dyn FnMut(&str)) {
    match value {
        Json::String(text) => each(text),
        Json::Array(items) => items.iter().for_each(|item| each_string(item, each)),
        Json::Object(entries) => entries.iter().for_each(|(key, value)| {
            each(key);
            each_string(value, each);
        }),
        _ => {}
    }
}

fn map_strings(value: &Json, map: &dyn Fn(&str) -> String) -> Json {
    match value {
        Json::String(text) => Json::String(map(text)),
        Json::Array(items) => items.iter().map(|item| map_strings(item, map)).collect(),
        Json::Object(entries) => entries
            .iter()
            .map(|(key, value)| (map(key), map_strings(value, map)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
        other => other.clone(),
    }
}

/// `{% generation %}` marks what to train on; it writes nothing.
fn without_generation_tags(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(open) = rest.find("{%") {
        let Some(length) = rest[open..].find("%}") else { break };
        let inside = &rest[open + 2..open + length];
        out.push_str(&rest[..open]);
        match inside.trim_matches(|c: char| c == '-' || c == '+' || c.is_whitespace()) {
            "generation" => {
                out.push_str(&format!("{{%{}%}}", inside.replace("generation", "if true")))
            }
            "endgeneration" => {
                out.push_str(&format!("{{%{}%}}", inside.replace("endgeneration", "endif")));
            }
            _ => out.push_str(&rest[open..open + length + 2]),
        }
        rest = &rest[open + length + 2..];
    }
    out.push_str(rest);
    out
}

fn describe(error: &Error) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    text
}

struct Bounded {
    bytes: Vec<u8>,
}

impl io::Write for Bounded {
    fn write(&mut self, more: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + more.len() > OUTPUT_BYTES_MAX {
            return Err(io::Error::other(format!("writes more than {OUTPUT_BYTES_MAX} bytes")));
        }
        self.bytes.extend_from_slice(more);
        Ok(more.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[no_mangle]
pub unsafe extern "C" fn quire_template_compile(
    source: Bytes,
    out: *mut *mut Template,
    error: *mut Text,
) -> Status {
    guard(error, || {
        let template = Template::compile(source.as_str("the chat template")?)?;
        out.write(Box::into_raw(Box::new(template)));
        Ok(())
    })
}

#[no_mangle]
pub unsafe extern "C" fn quire_template_delete(template: *mut Template) {
    if !template.is_null() {
        drop(Box::from_raw(template));
    }
}

#[no_mangle]
pub unsafe extern "C" fn quire_template_render(
    template: *const Template,
    request: *const RenderRequest,
    out: *mut Rendered,
    error: *mut Text,
) -> Status {
    guard(error, || {
        let (text, offsets) = (*template).render(&*request)?;
        out.write(Rendered {
            text: Text::from_vec(text.into_bytes()),
            shielded_offsets: Offsets::from_vec(offsets),
        });
        Ok(())
    })
}
