//! Models of the server, and queues of commands to them.
use crate::chat::{chat_request, ChatMessage};
use crate::future::{to_bytes, to_text, to_u32s};
use crate::host::{self, checked, text_from, Handle, Record};
use crate::raw;
use crate::{Error, ErrorCode, HostFuture, Result};
use std::rc::Rc;

/// The fixed properties of a model.
#[derive(Clone, Debug)]
pub struct ModelInfo {
    /// Tokens of a page.
    pub page_size: u32,
    /// How far tokens may be apart.
    pub context_length: u32,
    /// How many tokens there are.
    pub vocabulary_size: u32,
    /// Numbers of an output embedding.
    pub embedding_width: u32,
    /// The token that begins a text.
    pub begin_of_text: Option<u32>,
    /// The token that ends a text.
    pub end_of_text: Option<u32>,
    /// Tokens that end a text or a turn.
    pub stop_tokens: Vec<u32>,
}

/// A model that the server has. Copies are the same one.
#[derive(Clone, Debug)]
pub struct Model {
    shared: Rc<(Handle, ModelInfo)>,
}

/// How a text becomes tokens.
#[derive(Clone, Copy, Debug)]
pub struct TokenizeOptions {
    /// "<|im_end|>" in the text becomes its token; false: plain text.
    pub parse_special: bool,
    /// Begin with the model's begin-of-text token.
    pub begin_of_text: bool,
}

impl Default for TokenizeOptions {
    fn default() -> Self {
        TokenizeOptions { parse_special: true, begin_of_text: false }
    }
}

impl Model {
    /// The server's first model.
    pub fn open() -> Result<Model> {
        Model::named("")
    }
    /// `not-found`: the server has no model of that name.
    pub fn named(name: &str) -> Result<Model> {
        let handle = Handle::of_call(unsafe {
            raw::models::get_model(name.as_ptr(), host::count(name.as_bytes()))
        })?;
        let info = read_info(handle.get())?;
        Ok(Model { shared: Rc::new((handle, info)) })
    }
    /// Names of the models that the server has.
    pub fn available() -> Result<Vec<String>> {
        Ok(lines(&text_from(|buffer, capacity| unsafe {
            raw::models::available_models(buffer, capacity)
        })?))
    }

    /// The name of the model.
    pub fn name(&self) -> Result<String> {
        text_from(|buffer, capacity| unsafe {
            raw::models::model_name(self.handle(), buffer, capacity)
        })
    }
    /// The calls that the model can serve: "allocate", "forward", "tokenize" and the like.
    pub fn traits(&self) -> Result<Vec<String>> {
        Ok(lines(&text_from(|buffer, capacity| unsafe {
            raw::models::available_traits(self.handle(), buffer, capacity)
        })?))
    }
    /// Names of the adapters that this program may use with the model.
    pub fn adapters(&self) -> Result<Vec<String>> {
        Ok(lines(&text_from(|buffer, capacity| unsafe {
            raw::adapter::available_adapters(self.handle(), buffer, capacity)
        })?))
    }
    /// The version of a trait of the model. `not-supported`: the model does not have the trait.
    pub fn trait_version(&self, name: &str) -> Result<u32> {
        host::checked(unsafe {
            raw::models::trait_version(self.handle(), name.as_ptr(), host::count(name.as_bytes()))
        })
    }
    /// The fixed properties of the model.
    pub fn info(&self) -> &ModelInfo {
        &self.shared.1
    }
    /// For calls of [`raw`].
    pub fn handle(&self) -> i32 {
        self.shared.0.get()
    }

    /// Tokens of a text.
    pub fn tokenize(&self, text: &str, options: TokenizeOptions) -> HostFuture<Vec<u32>> {
        let flags = u32::from(options.parse_special) | u32::from(options.begin_of_text) << 1;
        let call = unsafe {
            raw::tokenize::tokenize(
                self.handle(),
                text.as_ptr(),
                host::count(text.as_bytes()),
                flags,
            )
        };
        HostFuture::new(call, to_u32s)
    }
    /// The bytes of tokens, which are not always whole UTF-8. Special tokens are left out unless asked for.
    pub fn detokenize(&self, tokens: &[u32], keep_special: bool) -> HostFuture<Vec<u8>> {
        let call = unsafe {
            raw::tokenize::detokenize(
                self.handle(),
                tokens.as_ptr(),
                host::count(tokens),
                u32::from(keep_special),
            )
        };
        HostFuture::new(call, to_bytes)
    }
    /// The bytes of every token, by id.
    pub async fn vocabulary(&self) -> Result<Vec<Vec<u8>>> {
        const COUNT_MAX: u32 = 4096; // The maximum of one call.
        let size = self.info().vocabulary_size;
        let mut tokens: Vec<Vec<u8>> = Vec::new();
        while tokens.len() < size as usize {
            let first = tokens.len() as u32;
            let count = COUNT_MAX.min(size - first);
            let call = unsafe { raw::tokenize::get_vocabs(self.handle(), first, count) };
            let more = HostFuture::new(call, to_texts).await?;
            if more.is_empty() {
                return Err(Error::broken("a part of the vocabulary", 0));
            }
            tokens.extend(more);
        }
        Ok(tokens)
    }
    /// The kinds of `count` tokens from `first` on: 0 text, 1 a byte, 2 added to the vocabulary, 3 special, 4 unused.
    pub fn token_kinds(&self, first: u32, count: u32) -> HostFuture<Vec<u8>> {
        let call = unsafe { raw::tokenize::get_token_kinds(self.handle(), first, count) };
        HostFuture::new(call, to_bytes)
    }
    /// A conversation as the model's own template writes it. With `answer_next` it ends where the model's
    /// answer begins. `tools` is a JSON array of what the model may call, or empty.
    pub fn tokenize_chat(
        &self,
        messages: &[ChatMessage],
        answer_next: bool,
        tools: &str,
    ) -> HostFuture<Vec<u32>> {
        let request = chat_request(messages, answer_next, tools);
        let call = unsafe {
            raw::tokenize::tokenize_chat(
                self.handle(),
                request.as_ptr(),
                host::count(request.as_bytes()),
            )
        };
        HostFuture::new(call, to_u32s)
    }
    /// The same, as a text.
    pub fn apply_chat_template(
        &self,
        messages: &[ChatMessage],
        answer_next: bool,
        tools: &str,
    ) -> HostFuture<String> {
        let request = chat_request(messages, answer_next, tools);
        let call = unsafe {
            raw::tokenize::apply_chat_template(
                self.handle(),
                request.as_ptr(),
                host::count(request.as_bytes()),
            )
        };
        HostFuture::new(call, to_text)
    }
}

/// Reads a list of texts: for each a u32 count of bytes, then the bytes.
fn to_texts(bytes: &[u8]) -> Result<Vec<Vec<u8>>> {
    let mut record = Record::new(bytes, "a list of texts");
    let mut texts = Vec::new();
    while !record.is_at_end() {
        let count = record.u32()? as usize;
        texts.push(record.bytes(count)?.to_vec());
    }
    Ok(texts)
}

fn lines(text: &str) -> Vec<String> {
    text.lines().filter(|each| !each.is_empty()).map(String::from).collect()
}

fn read_info(handle: i32) -> Result<ModelInfo> {
    const FIXED: usize = 7; // Numbers before the stop ids.
    let mut record = vec![0u32; 64];
    loop {
        let call = unsafe {
            raw::models::model_info(handle, record.as_mut_ptr().cast(), host::count(&record))
        };
        let wanted = checked(call)? as usize;
        let fits = wanted <= record.len();
        record.resize(wanted, 0);
        if fits {
            break;
        }
    }
    let stop_count = record.get(FIXED - 1).map_or(usize::MAX, |count| *count as usize);
    if record.len() < FIXED || record.len() - FIXED < stop_count {
        return Err(Error::new(
            ErrorCode::Internal,
            format!("model-info gave {} numbers", record.len()),
        ));
    }
    let optional = |number: u32| (number != u32::MAX).then_some(number);
    Ok(ModelInfo {
        page_size: record[0],
        context_length: record[1],
        vocabulary_size: record[2],
        embedding_width: record[3],
        begin_of_text: optional(record[4]),
        end_of_text: optional(record[5]),
        stop_tokens: record[FIXED..FIXED + stop_count].to_vec(),
    })
}

/// The order of commands among queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Priority {
    Low,
    Normal,
    High,
}

/// A stream of commands to one model, in order. Copies are the same one; the last ends it after its
/// commands.
#[derive(Clone, Debug)]
pub struct Queue {
    handle: Rc<Handle>,
}

impl Queue {
    /// A queue of its own.
    pub fn create(model: &Model, priority: Priority) -> Result<Queue> {
        let handle =
            Handle::of_call(unsafe { raw::queue::create_queue(model.handle(), priority as u32) })?;
        Ok(Queue { handle: Rc::new(handle) })
    }
    /// Sets the priority of its commands from now on, also of those that wait.
    pub fn set_priority(&self, priority: Priority) -> Result<()> {
        host::checked_empty(unsafe {
            raw::queue::set_queue_priority(self.handle(), priority as u32)
        })
    }
    /// Ready when every command that was issued before has taken effect.
    pub fn synchronize(&self) -> HostFuture<()> {
        HostFuture::new(unsafe { raw::queue::synchronize(self.handle()) }, crate::future::nothing)
    }
    /// For calls of [`raw`].
    pub fn handle(&self) -> i32 {
        self.handle.get()
    }
}
