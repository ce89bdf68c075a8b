//! The part of a model that grammars know: the bytes of its tokens, as a trie, and how it encodes a
//! text.

use super::clock::Clock;
use super::number::is_of_number;
use super::pace::Pace;
use super::{EncodeCallback, VocabularyParts};
use crate::boundary::{Bytes, Failure, Outcome, Status};
use llguidance::earley::SlicedBiasComputer;
use llguidance::toktrie::{
    InferenceCapabilities, TokEnv, TokRxInfo, TokTrie, TokenId, TokenizerEnv, INVALID_TOKEN,
};
use llguidance::{panic_utils, ParserFactory};
use std::cell::Cell;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The library's trie has 22 bits for its nodes and 10 for the depth of a node.
const TOKEN_COUNT_MAX: usize = 1 << 21;
const TOKEN_BYTES_MAX: usize = 512;

thread_local! {
    /// Whether this thread asks for forced tokens, see `Environment`.
    static FORCES: Cell<bool> = const { Cell::new(false) };
}

/// While it lives, the library may force tokens in this thread.
pub struct Forcing;

impl Forcing {
    pub fn begin() -> Forcing {
        FORCES.set(true);
        Forcing
    }
}

impl Drop for Forcing {
    fn drop(&mut self) {
        FORCES.set(false);
    }
}

struct Environment {
    trie: TokTrie,
    encode: Option<EncodeCallback>,
    encode_context: *const std::ffi::c_void,
}

// The header asks that `encode` may be called with its context from any thread.
unsafe impl Send for Environment {}
unsafe impl Sync for Environment {}

impl Environment {
    fn encode(&self, text: &str) -> Option<Vec<TokenId>> {
        let encode = self.encode?;
        let mut ids = vec![0; text.len().max(16)];
        let count = unsafe {
            let text = Bytes::borrow(text.as_bytes());
            encode(self.encode_context, text, ids.as_mut_ptr(), ids.len())
        };
        (count <= ids.len()).then(|| {
            ids.truncate(count);
            ids
        })
    }
}

impl TokenizerEnv for Environment {
    fn tok_trie(&self) -> &TokTrie {
        &self.trie
    }

    /// The tokens spell exactly `bytes`. The model's own encoder may have none that do (it puts a
    /// space before a text, or normalizes it); then each is the longest that fits.
    fn tokenize_bytes(&self, bytes: &[u8]) -> Vec<TokenId> {
        let encoded = std::str::from_utf8(bytes).ok().and_then(|text| self.encode(text));
        match encoded {
            Some(ids) if self.trie.decode_raw(&ids) == bytes => ids,
            _ => self.trie.greedy_tokenize(bytes),
        }
    }

    /// The library allows a single token in a mask, the forced one, where this is true. But a mask
    /// must hold every token that the grammar allows: so it is true only while `forced` asks.
    fn tokenize_is_canonical(&self) -> bool {
        self.encode.is_some() && FORCES.get()
    }
}

/// Compilations at once. One that takes too long is left to itself and keeps its turn.
const TURN_COUNT: usize = 3;

#[derive(Default)]
pub struct Turns {
    taken_count: Mutex<usize>,
    freed: Condvar,
}

/// Gives the turn back.
pub struct Turn(Arc<Turns>);

impl Turns {
    pub fn take(self: &Arc<Self>, most: Duration) -> Option<Turn> {
        let end = Instant::now() + most;
        let mut count = self.taken_count.lock().unwrap_or_else(PoisonError::into_inner);
        while *count == TURN_COUNT {
            let left = end.checked_duration_since(Instant::now())?;
            let waited = self.freed.wait_timeout(count, left);
            count = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        *count += 1;
        Some(Turn(self.clone()))
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        *self.0.taken_count.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.0.freed.notify_one();
    }
}

/// Shared by all grammars of a model and by their matchers.
pub struct Shared {
    pub factory: ParserFactory,
    pub clock: Clock,
    pub turns: Arc<Turns>,
    pub pace: Pace,
    /// By id: whether a text can spell the token, and so a grammar allow it.
    is_text: Vec<bool>,
    stop_ids: Vec<u32>,
    environment: TokEnv,
    /// Tokens whose first byte may stand in a number of JSON.
    number_ids: Vec<u32>,
}

impl Shared {
    pub fn token_count(&self) -> usize {
        self.is_text.len()
    }
    pub fn word_count(&self) -> usize {
        self.is_text.len().div_ceil(32)
    }
    pub fn is_text(&self, id: u32) -> bool {
        self.is_text.get(id as usize).copied().unwrap_or(false)
    }
    pub fn is_stop(&self, id: u32) -> bool {
        self.stop_ids.contains(&id)
    }
    pub fn stop_ids(&self) -> &[u32] {
        &self.stop_ids
    }
    pub fn bytes(&self, id: u32) -> &[u8] {
        self.environment.tok_trie().token(id)
    }
    /// Tokens that spell `text`; none: it has a byte that no token has.
    pub fn spelled(&self, text: &[u8]) -> Option<Vec<u32>> {
        let trie = self.environment.tok_trie();
        let tokens = trie.greedy_tokenize(text);
        (trie.decode_raw(&tokens) == text).then_some(tokens)
    }
    pub fn number_ids(&self) -> &[u32] {
        &self.number_ids
    }

    pub unsafe fn create(parts: &VocabularyParts) -> Outcome<Self> {
        let tokens = super::slice(parts.tokens, parts.token_count);
        let stop_ids = super::slice(parts.stop_ids, parts.stop_count).to_vec();
        if tokens.is_empty() || tokens.len() > TOKEN_COUNT_MAX {
            return Err(Failure::invalid(format!(
                "grammars need a vocabulary of 1 to {TOKEN_COUNT_MAX} tokens; this one has {}",
                tokens.len()
            )));
        }
        if let Some(id) = stop_ids.iter().find(|id| **id as usize >= tokens.len()) {
            return Err(Failure::invalid(format!(
                "stop token {id} is not in a vocabulary of {} tokens",
                tokens.len()
            )));
        }
        let mut words: Vec<Vec<u8>> = tokens.iter().map(|bytes| word_of(*bytes)).collect();
        for id in &stop_ids {
            words[*id as usize].clear();
        }
        let is_text = words.iter().map(|word| !word.is_empty()).collect();
        let begins_in_number =
            |id: &u32| words[*id as usize].first().copied().is_some_and(is_of_number);
        let number_ids = (0..words.len() as u32).filter(begins_in_number).collect();
        // The library never learns of a stop token: `Matcher` knows when one may follow.
        let information = TokRxInfo::new(tokens.len() as u32, INVALID_TOKEN);
        let sort = AssertUnwindSafe(|| Ok(TokTrie::from(&information, &words)));
        let trie = panic_utils::catch_unwind(sort)
            .map_err(|_| Failure::new(Status::Limit, "the vocabulary is too large for grammars"))?;
        let environment: TokEnv = Arc::new(Environment {
            trie,
            encode: parts.encode,
            encode_context: parts.encode_context,
        });
        let slices = SlicedBiasComputer::general_slices();
        let mut factory =
            ParserFactory::new(&environment, InferenceCapabilities::default(), &slices)
                .map_err(|error| Failure::invalid(format!("grammar vocabulary: {error}")))?;
        factory.quiet();
        let clock =
            Clock::start().map_err(|error| Failure::no_thread("the clock of grammars", error))?;
        Ok(Shared {
            factory,
            clock,
            turns: Arc::default(),
            pace: Pace::default(),
            is_text,
            stop_ids,
            environment,
            number_ids,
        })
    }
}

/// The bytes of a token in the trie: none if no grammar can allow it. Grammars match UTF-8, in
/// which the byte 0xFF cannot stand, and the library has another use for it.
unsafe fn word_of(bytes: Bytes) -> Vec<u8> {
    let bytes = bytes.as_slice();
    if bytes.len() > TOKEN_BYTES_MAX || bytes.contains(&TokTrie::SPECIAL_TOKEN_MARKER) {
        return Vec::new();
    }
    bytes.to_vec()
}
