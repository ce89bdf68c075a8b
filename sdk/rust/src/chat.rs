//! Turns of a conversation, and the note by which a snapshot keeps them. The form of the note is that of the
//! C++ SDK (`conversation_note.h`), so that either opens what the other saved.
use crate::json::quoted;
use crate::{Error, ErrorCode, Json, Result};

/// A turn of a conversation. Roles are those of the model's template: "system", "user", "assistant", often
/// "tool".
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChatMessage {
    /// The speaker.
    pub role: String,
    /// The text.
    pub content: String,
    /// Further members, as JSON without braces: `"name":"add"`.
    pub more: String,
}

impl ChatMessage {
    /// A turn without further members.
    pub fn new(role: impl Into<String>, content: impl Into<String>) -> ChatMessage {
        ChatMessage { role: role.into(), content: content.into(), more: String::new() }
    }
}

/// Writes the argument of `tokenize-chat`.
pub(crate) fn chat_request(messages: &[ChatMessage], answer_next: bool, tools: &str) -> String {
    let turns: Vec<String> = messages
        .iter()
        .map(|each| {
            let more = if each.more.is_empty() { String::new() } else { format!(",{}", each.more) };
            format!(
                "{{\"role\":{},\"content\":{}{more}}}",
                quoted(&each.role),
                quoted(&each.content)
            )
        })
        .collect();
    let tools = if tools.is_empty() { String::new() } else { format!(",\"tools\":{tools}") };
    format!("{{\"messages\":[{}]{tools},\"add_generation_prompt\":{answer_next}}}", turns.join(","))
}

/// The turns of a context, and where they lie in its tokens.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Turns {
    pub(crate) messages: Vec<ChatMessage>,
    pub(crate) tools: String,         // A JSON array, or nothing.
    pub(crate) rendered_count: usize, // Those whose tokens are in the context,
    pub(crate) first: u32,            // which begin there
    pub(crate) end: u32,              // and ended there when they were written last.
    pub(crate) answer_open: bool,     // It ends where an answer begins.
    pub(crate) is_cut: bool,          // Tokens of the conversation are gone.
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ConversationNote {
    pub(crate) turns: Turns,
    pub(crate) unknown_token_count: u32, // Before `tokens`.
    pub(crate) beyond_context: bool,
    pub(crate) hint: u32,
    pub(crate) hint_seconds: u32,
    pub(crate) tokens: Vec<u32>,
}

const NOTE_BEGIN: &str = "{\"quire.conversation\":1,";
pub(crate) const NOTE_BYTES_MAX: usize = 1 << 20;

impl ConversationNote {
    pub(crate) fn written(&self) -> Vec<u8> {
        let messages: Vec<Json> = self
            .turns
            .messages
            .iter()
            .map(|each| {
                let mut members = vec![
                    ("role", Json::from(each.role.as_str())),
                    ("content", each.content.as_str().into()),
                ];
                if !each.more.is_empty() {
                    members.push(("more", each.more.as_str().into()));
                }
                Json::object(members)
            })
            .collect();
        let json = Json::object([
            ("quire.conversation", 1u32.into()),
            ("messages", Json::Array(messages)),
            ("tools", self.turns.tools.as_str().into()),
            ("written", self.turns.rendered_count.into()),
            ("first", self.turns.first.into()),
            ("end", self.turns.end.into()),
            ("unknown", self.unknown_token_count.into()),
            ("answer_open", self.turns.answer_open.into()),
            ("cut", self.turns.is_cut.into()),
            ("beyond_context", self.beyond_context.into()),
            ("hint", self.hint.into()),
            ("hint_seconds", self.hint_seconds.into()),
            ("tokens", self.tokens.len().into()),
        ]);
        let mut note = format!("{json}\n").into_bytes();
        for &token in &self.tokens {
            let mut rest = token;
            while rest >= 0x80 {
                note.push(0x80 | (rest & 0x7f) as u8);
                rest >>= 7;
            }
            note.push(rest as u8);
        }
        note
    }

    /// Nothing: the note is not of a conversation. `corrupted`: it begins like one, and is none.
    pub(crate) fn read(note: &[u8]) -> Result<Option<ConversationNote>> {
        if !note.starts_with(NOTE_BEGIN.as_bytes()) {
            return Ok(None);
        }
        let damaged = || Error::new(ErrorCode::Corrupted, "the note of a conversation is damaged");
        let line = note.iter().position(|each| *each == b'\n').ok_or_else(damaged)?;
        let text = std::str::from_utf8(&note[..line]).map_err(|_| damaged())?;
        let json = Json::parse(text).map_err(|_| damaged())?;
        let number = |name: &str| -> Result<u32> {
            let value = json[name].number().ok_or_else(damaged)?;
            if (0.0..=f64::from(u32::MAX)).contains(&value) {
                Ok(value as u32)
            } else {
                Err(damaged())
            }
        };
        let of = |each: &Json| ChatMessage {
            role: each["role"].text().to_string(),
            content: each["content"].text().to_string(),
            more: each["more"].text().to_string(),
        };
        let turns = Turns {
            messages: json["messages"].items().iter().map(of).collect(),
            tools: json["tools"].text().to_string(),
            rendered_count: number("written")? as usize,
            first: number("first")?,
            end: number("end")?,
            answer_open: json["answer_open"].boolean(),
            is_cut: json["cut"].boolean(),
        };
        let tokens = numbers_of(&note[line + 1..]).ok_or_else(damaged)?;
        if turns.rendered_count > turns.messages.len() || tokens.len() != number("tokens")? as usize
        {
            return Err(damaged());
        }
        Ok(Some(ConversationNote {
            turns,
            unknown_token_count: number("unknown")?,
            beyond_context: json["beyond_context"].boolean(),
            hint: number("hint")?,
            hint_seconds: number("hint_seconds")?,
            tokens,
        }))
    }
}

/// Each is written in groups of 7 bits, the lowest first; the high bit says that another follows.
fn numbers_of(bytes: &[u8]) -> Option<Vec<u32>> {
    let mut numbers = Vec::new();
    let (mut number, mut shift) = (0u64, 0u32);
    for &byte in bytes {
        number |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        if number > u64::from(u32::MAX) || shift > 35 {
            return None;
        }
        if byte & 0x80 == 0 {
            numbers.push(number as u32);
            (number, shift) = (0, 0);
        }
    }
    (shift == 0).then_some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_comes_back_and_a_damaged_one_is_an_error() {
        let mut note =
            ConversationNote { tokens: vec![0, 127, 128, u32::MAX], ..Default::default() };
        note.turns.messages = vec![ChatMessage::new("user", "Hi\n")];
        note.turns.rendered_count = 1;
        let written = note.written();
        assert_eq!(ConversationNote::read(&written).unwrap(), Some(note));
        assert_eq!(ConversationNote::read(b"mine").unwrap(), None);
        for bytes in NOTE_BEGIN.len()..written.len() {
            assert!(ConversationNote::read(&written[..bytes]).is_err());
        }
    }

    #[test]
    fn a_request_has_the_turns_as_templates_want_them() {
        let mut turn = ChatMessage::new("assistant", "a \"b\"");
        turn.more = "\"name\":\"x\"".into();
        assert_eq!(
            chat_request(&[turn], true, "[1]"),
            r#"{"messages":[{"role":"assistant","content":"a \"b\"","name":"x"}],"tools":[1],"add_generation_prompt":true}"#
        );
    }
}
