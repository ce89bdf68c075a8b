//! The turns of a conversation, and the tokens that they become.
use super::Context;
use crate::host::{checked_empty, Handle};
use crate::{raw, ChatMessage, Result};

impl Context {
    /// Queues a turn with instructions to the model.
    pub fn system(&mut self, content: impl Into<String>) {
        self.add(ChatMessage::new("system", content));
    }
    /// Queues a turn of the user.
    pub fn user(&mut self, content: impl Into<String>) {
        self.add(ChatMessage::new("user", content));
    }
    /// Queues a turn of the model that it did not write here.
    pub fn assistant(&mut self, content: impl Into<String>) {
        self.add(ChatMessage::new("assistant", content));
    }
    /// Queues a turn; the host is not asked before its tokens are needed.
    pub fn add(&mut self, message: ChatMessage) {
        self.turns.messages.push(message);
    }
    /// The turns of the conversation.
    pub fn messages(&self) -> &[ChatMessage] {
        &self.turns.messages
    }
    /// Offers tools that the model may call: a JSON array, which its template writes into the
    /// conversation.
    pub fn offer_tools(&mut self, tools: impl Into<String>) {
        self.turns.is_cut |= self.turns.rendered_count > 0; // Its turns were written without them.
        self.turns.tools = tools.into();
    }
    /// Replaces the turn that the model wrote last, so that its parts are those of the template: a call of a
    /// tool is a member of it. The tokens stay as the model wrote them. With `rewrites` the next turn begins the
    /// context anew.
    pub fn amend_answer(&mut self, message: ChatMessage, rewrites: bool) {
        if let Some(last) = self.turns.messages.last_mut() {
            *last = message;
            self.turns.is_cut |= rewrites;
        }
    }

    /// Turns the queued turns into queued tokens. With `answer_next` they end where the model's answer begins.
    pub(crate) async fn queue_turns(&mut self, answer_next: bool) -> Result<()> {
        self.settle()?;
        let rendered = self.turns.rendered_count;
        if self.turns.messages.len() == rendered && !(answer_next && self.awaits_answer()) {
            return Ok(());
        }
        let turns = &self.turns;
        let whole = self.model.tokenize_chat(&turns.messages, answer_next, &turns.tools).await?;
        let mut known = 0;
        if rendered > 0 {
            // The turns that the context holds, as the template writes them now.
            let before =
                self.model.tokenize_chat(&turns.messages[..rendered], false, &turns.tools).await?;
            known = self.common_end(&before, &whole);
        } else {
            self.turns.first = self.token_count();
        }
        // An answer that was asked for and never came to its end stands between, or turns were cut.
        if self.turns.answer_open || self.turns.is_cut {
            known = 0;
        }
        if rendered > 0 && known == 0 {
            self.begin_anew().await?;
        }
        self.append_marked(&whole, known).await?;
        self.turns.rendered_count = self.turns.messages.len();
        self.turns.end = self.token_count();
        self.turns.answer_open = answer_next;
        self.turns.is_cut = false;
        Ok(())
    }
    /// Whether the context ends with a turn that is to be answered, without the beginning of an
    /// answer.
    pub(super) fn awaits_answer(&self) -> bool {
        let last = self.turns.messages.last();
        last.is_some_and(|each| each.role != "assistant")
            && !self.turns.answer_open
            && self.token_count() == self.turns.end
    }
    /// How many tokens of `whole` the context holds already, given that it holds the turns `before`; 0 when that
    /// cannot be said. An answer is in the context as it was drawn, and the tokenizer may write it otherwise. What
    /// follows it is therefore aligned at the token that ends a turn.
    fn common_end(&self, before: &[u32], whole: &[u32]) -> usize {
        if !whole.starts_with(before) || self.turns.first < self.unknown_token_count {
            return 0;
        }
        let chat = self.tokens_between(self.turns.first, self.token_count());
        if chat == before {
            return before.len();
        }
        let stops = &self.model.info().stop_tokens;
        match before.iter().rposition(|each| stops.contains(each)) {
            None => 0,
            // With the token that ends the turn, or, when the answer was cut short, without.
            Some(at) => at + usize::from(chat.last() == Some(&before[at])),
        }
    }
    /// Queues the tokens of `whole`, the conversation, from `from` on, with marks where a later turn comes back to.
    /// Templates write earlier answers without their thoughts. So the next turn's prompt has these tokens only up
    /// to the answer, or up to the end of the user's last message if calls of tools came after it.
    async fn append_marked(&mut self, whole: &[u32], from: usize) -> Result<()> {
        let mut at = from;
        if self.model.trait_version("states").is_ok() {
            let messages = &self.turns.messages;
            let of_user = messages.iter().rposition(|each| each.role == "user");
            let mut counts = vec![messages.len()];
            counts.extend(of_user.map(|last| last + 1).filter(|count| *count < messages.len()));
            let mut places = Vec::new();
            for count in counts {
                let part = &self.turns.messages[..count];
                // A template may refuse a part of a conversation.
                if let Ok(text) = self.model.tokenize_chat(part, false, &self.turns.tools).await {
                    places.push(text.iter().zip(whole).take_while(|(a, b)| a == b).count());
                }
            }
            places.sort_unstable();
            for place in places.into_iter().filter(|place| *place >= from) {
                self.append(&whole[at..place])?;
                self.mark_end()?;
                at = place;
            }
        }
        self.append(&whole[at..])
    }
    pub(super) fn mark_end(&self) -> Result<()> {
        checked_empty(unsafe { raw::context::mark(self.handle()) })
    }
    /// Leaves the tokens before the conversation. A new context finds the pages that exist. If those tokens are not
    /// known, this context is cut.
    async fn begin_anew(&mut self) -> Result<()> {
        if self.unknown_token_count > 0 {
            self.rewind(self.turns.first.min(self.token_count())).await?;
            return Ok(());
        }
        let before = self.tokens_between(0, self.turns.first);
        self.handle = Handle::of_call(unsafe { raw::context::create(self.queue.handle()) })?;
        self.tokens.clear();
        if self.beyond_context {
            self.allow_beyond_context(true)?;
        }
        if self.hint.0 != 0 {
            checked_empty(unsafe { raw::context::hint(self.handle(), self.hint.0, self.hint.1) })?;
        }
        self.append(&before)
    }
    /// The model's answer is in the context already: it is a turn of the conversation.
    pub(crate) fn note_answer(&mut self, content: &str) {
        if !self.turns.messages.is_empty() {
            self.assistant(content);
            self.turns.rendered_count = self.turns.messages.len();
            self.turns.answer_open = false;
        }
    }
}
