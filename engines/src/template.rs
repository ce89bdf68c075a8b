//! Chat templates through C functions: a model's own Jinja, rendered by `jinja/`.
//!
//! A rendered prompt is later cut at special tokens. Text of a user must never become one, so
//! `render` also says which bytes of its output came with the request and could take part in one.

use crate::boundary::{guard, Bytes, Failure, Offsets, Outcome, Status, Text};
use crate::jinja::ast::Program;
use crate::jinja::text::{code, letter, Char, FROM_REQUEST};
use crate::jinja::value::{Dict, Value};
use crate::jinja::{self, json};
use std::collections::{HashMap, HashSet};

/// The template for requests that offer tools, and the one for all others.
const FOR_TOOLS: &str = "tool_use";
const DEFAULT: &str = "default";

/// A model's templates by name. One that does not compile fails the requests that choose it.
pub struct Template {
    by_name: Vec<(String, Result<Program, String>)>,
}

/// `quire_named_template` in the header.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct NamedTemplate {
    name: Bytes,
    source: Bytes,
}

/// The input of one rendering; `quire_render_request` in the header.
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

fn object(text: &[u8], from_request: bool, what: &str) -> Outcome<std::rc::Rc<Dict>> {
    match json::parse(text, from_request) {
        Ok(Value::Dict(dict)) => Ok(dict),
        Ok(_) => Err(Failure::invalid(format!("{what}: not a JSON object"))),
        Err(why) => Err(Failure::invalid(format!("{what}: {why}"))),
    }
}

impl Template {
    fn compile(sources: &[(String, &str)]) -> Self {
        let compile = |source: &str| jinja::parse(source).map_err(|error| error.to_string());
        let by_name = sources.iter().map(|(name, source)| (name.clone(), compile(source)));
        Template { by_name: by_name.collect() }
    }

    fn find(&self, name: &str) -> Option<&Result<Program, String>> {
        self.by_name.iter().find(|(each, _)| each == name).map(|(_, program)| program)
    }

    /// As `transformers` chooses: the request's own choice, else by whether it offers tools.
    fn choose(&self, request: &Dict) -> Outcome<&Program> {
        let names = || {
            let mut names: Vec<&str> = self.by_name.iter().map(|(name, _)| name.as_str()).collect();
            names.sort_unstable();
            names.join(", ")
        };
        let has_tools = !matches!(request.get_name("tools"), None | Some(Value::None));
        let chosen = match request.get_name("chat_template") {
            None | Some(Value::None) => {
                let for_tools = has_tools.then(|| self.find(FOR_TOOLS)).flatten();
                for_tools.or_else(|| self.find(DEFAULT)).ok_or_else(|| {
                    format!(
                        "the model has several chat templates and no default; name one as \
                         \"chat_template\": {}",
                        names()
                    )
                })
            }
            Some(Value::Text(name)) => self.find(&name.to_plain()).ok_or_else(|| {
                format!("the model has no chat template of that name; it has: {}", names())
            }),
            Some(_) => Err("\"chat_template\" must be the name of a template".to_owned()),
        };
        let program = chosen.map_err(|why| Failure::invalid(format!("chat request: {why}")))?;
        program.as_ref().map_err(|why| Failure::invalid(format!("chat template: {why}")))
    }

    unsafe fn render(&self, call: &RenderRequest) -> Outcome<(String, Vec<usize>)> {
        let request = object(call.request.as_slice(), true, "chat request")?;
        if !matches!(request.get_name("messages"), Some(Value::List(_))) {
            return Err(Failure::invalid("chat request: \"messages\" must be an array"));
        }
        let variables = object(call.variables.as_slice(), false, "template variables")?;
        let shielded = if call.shielded_count == 0 {
            &[]
        } else {
            std::slice::from_raw_parts(call.shielded, call.shielded_count)
        };
        let mut tokens = Vec::with_capacity(shielded.len());
        for token in shielded {
            tokens.push(token.as_str("a special token")?);
        }
        let program = self.choose(&request)?;
        let text = context(&variables, &request)
            .and_then(|context| jinja::render(program, &context, call.now_unix_seconds))
            .map_err(|error| Failure::invalid(format!("chat template: {error}")))?;
        Ok((jinja::text::plain_text(&text), shielded_offsets(&text, &tokens)))
    }
}

/// The variables of a rendering. What the request gives wins over what the model's files say.
fn context(variables: &Dict, request: &Dict) -> jinja::error::Result<Dict> {
    // As Hugging Face's code calls it: these are defined even if the caller gives none.
    let mut context = jinja::dict(vec![
        ("tools", Value::None),
        ("documents", Value::None),
        ("add_generation_prompt", Value::Bool(false)),
    ])?;
    for (name, value) in variables.entries().iter().chain(request.entries()) {
        context.insert(name.clone(), value.clone())?;
    }
    Ok(context)
}

/// A template may put a name of the request between its own marks: `<|` + role + `|>`. So letters
/// of the request do not spoil a token, but any other character of it does.
fn is_telling(character: char) -> bool {
    !character.is_alphanumeric() && !character.is_whitespace() && character != '_'
}

/// The byte offsets, ascending, at which `text` has characters of the request that could take part
/// in one of `tokens`.
fn shielded_offsets(text: &[Char], tokens: &[&str]) -> Vec<usize> {
    let telling: HashSet<char> =
        tokens.iter().flat_map(|t| t.chars()).filter(|c| is_telling(*c)).collect();
    // Tokens of letters alone: any character of the request within one spoils it.
    let mut words: HashMap<char, Vec<Vec<char>>> = HashMap::new();
    for token in tokens.iter().filter(|token| !token.chars().any(is_telling)) {
        if let Some(first) = token.chars().next() {
            words.entry(first).or_default().push(token.chars().collect());
        }
    }
    let mut spoiled: HashSet<usize> = HashSet::new();
    if !words.is_empty() {
        for at in 0..text.len() {
            for word in words.get(&letter(text[at])).into_iter().flatten() {
                let Some(there) = text.get(at..at + word.len()) else { continue };
                if there.iter().zip(word).all(|(a, b)| letter(*a) == *b) {
                    let first = there.iter().position(|c| c & FROM_REQUEST != 0);
                    spoiled.extend(first.map(|offset| at + offset));
                }
            }
        }
    }
    let mut offsets = Vec::new();
    let mut byte = 0;
    for (at, character) in text.iter().enumerate() {
        let is_users = character & FROM_REQUEST != 0 && telling.contains(&letter(*character));
        if is_users || spoiled.contains(&at) {
            offsets.push(byte);
        }
        byte += char::from_u32(code(*character)).map_or(3, char::len_utf8);
    }
    offsets
}

#[no_mangle]
pub unsafe extern "C" fn quire_template_compile(
    templates: *const NamedTemplate,
    count: usize,
    out: *mut *mut Template,
    error: *mut Text,
) -> Status {
    guard(error, || {
        let templates = if count == 0 { &[] } else { std::slice::from_raw_parts(templates, count) };
        let mut sources = Vec::with_capacity(count);
        for each in templates {
            let name = each.name.as_str("the name of a chat template")?;
            sources.push((name.to_owned(), each.source.as_str("the chat template")?));
        }
        out.write(Box::into_raw(Box::new(Template::compile(&sources))));
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

#[cfg(test)]
mod tests {
    use super::*;

    fn offsets(text: &[(&str, Char)], tokens: &[&str]) -> Vec<usize> {
        let chars: Vec<Char> = text
            .iter()
            .flat_map(|(part, origin)| part.chars().map(move |c| c as u32 | origin))
            .collect();
        shielded_offsets(&chars, tokens)
    }

    #[test]
    fn marks_of_the_request_are_shielded_and_its_letters_are_not() {
        let role = [("é<|", 0), ("user", FROM_REQUEST), ("|>", 0)];
        assert_eq!(offsets(&role, &["<|user|>"]), [0usize; 0]);
        let joined = [("é<", 0), ("|user|", FROM_REQUEST), (">", 0)];
        assert_eq!(offsets(&joined, &["<|user|>"]), [3, 8]);
    }

    #[test]
    fn a_token_of_letters_alone_is_spoiled_by_any_character_of_the_request() {
        assert_eq!(offsets(&[("a PA", 0), ("D", FROM_REQUEST)], &["PAD"]), [4]);
        assert_eq!(offsets(&[("a PAD ", 0), ("D", FROM_REQUEST)], &["PAD"]), [0usize; 0]);
    }

    #[test]
    fn a_template_can_be_shared_by_threads() {
        fn shared<T: Send + Sync>() {}
        shared::<Template>();
    }
}
