//! A place in a grammar.

use super::compile::Origin;
use super::failure::compute_failure;
use super::number::{is_of_number, Begun};
use super::vocabulary::{Forcing, Shared};
use super::{GrammarKind, Limits};
use crate::boundary::{Failure, Outcome, Status};
use crate::memory::held_bytes;
use llguidance::api::StopReason;
use llguidance::earley::ParserError;
use llguidance::toktrie::Recognizer;
use llguidance::{CancellationHandle, TokenParser};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::Arc;
use std::time::Duration;

/// Accepting again what a matcher has accepted takes at most as long as so many masks.
const REPLAY_MASKS_MAX: u32 = 5;

/// The size of a part of a text that is accepted as tokens; those of one part are found at once.
const TEXT_PART_BYTES: usize = 1_024;

/// Whether the lexer of `parser`, which may be another matcher's too, has reached a limit or was left
/// in the middle of a step.
pub fn lexer_failed(parser: &TokenParser) -> bool {
    let look = || matches!(parser.parser.get_error(), Some(ParserError::LexerError(_)));
    catch_unwind(AssertUnwindSafe(look)).unwrap_or(true)
}

pub struct Matcher {
    /// Shares its lexer, which remembers what it has computed, with other matchers of the grammar.
    parser: TokenParser,
    stop: CancellationHandle,
    vocabulary: Arc<Shared>,
    limits: Limits,
    origin: Arc<Origin>,
    /// Since the start, without the stop token.
    accepted: Vec<u32>,
    /// A stop token was accepted.
    is_ended: bool,
    may_end: bool,
    /// No text can follow.
    is_complete: bool,
    /// The bytes that its calls have added to the memory of this process.
    grown_bytes: isize,
    /// Why it can do nothing more.
    broken: Option<(Status, String)>,
}

impl Matcher {
    /// `parser` has accepted nothing yet. Calls of this matcher take at most `us_max`; those of its
    /// forks, what the origin says.
    pub fn begin(parser: TokenParser, origin: Arc<Origin>, us_max: u64) -> Outcome<Self> {
        let mut matcher = Matcher::over(parser, origin, 0);
        matcher.limits.mask_us_max = us_max;
        matcher.compute("the grammar", |matcher| matcher.look())?;
        Ok(matcher)
    }

    fn over(mut parser: TokenParser, origin: Arc<Origin>, bytes: isize) -> Self {
        let stop = parser.enable_cancellation();
        Matcher {
            parser,
            stop,
            vocabulary: origin.vocabulary.clone(),
            limits: origin.limits,
            origin,
            accepted: Vec::new(),
            is_ended: false,
            may_end: false,
            is_complete: false,
            grown_bytes: bytes,
            broken: None,
        }
    }

    pub fn fork(&self) -> Self {
        let before = held_bytes();
        let parser = self.parser.clone();
        let accepted = self.accepted.clone();
        let bytes = held_bytes() - before;
        Matcher {
            accepted,
            is_ended: self.is_ended,
            may_end: self.may_end,
            is_complete: self.is_complete,
            broken: self.broken.clone(),
            ..Matcher::over(parser, self.origin.clone(), bytes)
        }
    }

    pub fn parser(&self) -> &TokenParser {
        &self.parser
    }
    /// As a fault of the library in the middle of a step would.
    #[cfg(test)]
    pub fn break_shared_lexer(&mut self) -> Outcome<()> {
        self.compute("a test", |matcher| matcher.parser.parser.test_trigger_lexer_error())
    }
    pub fn lexer_bytes(&self) -> usize {
        self.parser.parser.lexer_stats().num_bytes
    }
    pub fn may_end(&self) -> bool {
        self.broken.is_none() && self.may_end && !self.is_ended
    }
    pub fn is_complete(&self) -> bool {
        self.broken.is_none() && (self.is_ended || (self.may_end && self.is_complete))
    }
    pub fn grown_bytes(&self) -> usize {
        self.grown_bytes.max(0) as usize
    }

    /// Runs `work` within the limits of a call. One that fails ends the matcher: the library's state
    /// is then unknown.
    fn compute<T>(
        &mut self,
        what: &str,
        work: impl FnOnce(&mut Self) -> anyhow::Result<T>,
    ) -> Outcome<T> {
        if let Some((status, message)) = &self.broken {
            return Err(Failure::new(*status, message.clone()));
        }
        let before = held_bytes();
        let vocabulary = self.vocabulary.clone();
        // Not the library's own catching, which takes 100 ms to find the names of a backtrace.
        let done = catch_unwind(AssertUnwindSafe(|| {
            if lexer_failed(&self.parser) {
                self.begin_again()?;
            }
            let most = Duration::from_micros(self.limits.mask_us_max);
            let _watch = vocabulary.clock.watch(&self.stop, most);
            work(self)
        }));
        self.grown_bytes += held_bytes() - before;
        let failure = match done {
            Err(_) => Failure::new(Status::Internal, format!("{what}: a fault of the library")),
            Ok(_) if self.stop.is_cancelled() => Failure::new(
                Status::Timeout,
                format!("{what}: takes over {} ms", self.limits.mask_us_max / 1000),
            ),
            Ok(Ok(_)) if self.grown_bytes() > self.limits.matcher_bytes_max => Failure::new(
                Status::Limit,
                format!("{what}: a matcher holds over {} bytes", self.limits.matcher_bytes_max),
            ),
            Ok(Ok(value)) => return Ok(value),
            Ok(Err(error)) => compute_failure(what, &error.to_string()),
        };
        self.broken = Some((failure.status, failure.message.clone()));
        Err(failure)
    }

    /// Another matcher has driven the lexer that they share to a limit, where it stays. This one goes
    /// on with a lexer of its own.
    fn begin_again(&mut self) -> anyhow::Result<()> {
        let mut parser = self.origin.pristine.deep_clone();
        let stop = parser.enable_cancellation();
        let most = Duration::from_micros(self.limits.mask_us_max) * REPLAY_MASKS_MAX;
        let watch = self.vocabulary.clock.watch(&stop, most);
        for token in &self.accepted {
            parser.consume_token(*token)?;
        }
        drop(watch);
        self.parser = parser;
        self.stop = stop;
        self.look()
    }

    /// Looks up, after a step, what may follow.
    fn look(&mut self) -> anyhow::Result<()> {
        self.may_end = self.parser.is_accepting();
        if let Some(error) = self.parser.parser.get_error() {
            anyhow::bail!("{}", error.message());
        }
        self.is_complete = !self.parser.parser.can_advance();
        Ok(())
    }

    /// Bit i % 32 of word i / 32: token i may follow. There may be more words than the vocabulary needs.
    pub fn fill(&mut self, words: &mut [u32]) -> Outcome<()> {
        let needed = self.vocabulary.word_count();
        if words.len() < needed {
            return Err(Failure::invalid(format!(
                "a mask of {} words for a vocabulary of {} tokens, which needs {needed}",
                words.len(),
                self.vocabulary.token_count()
            )));
        }
        words.fill(0);
        self.compute("the mask of the grammar", |matcher| {
            let is_stopped = matcher.parser.stop_reason() != StopReason::NotStopped;
            if matcher.is_ended || matcher.is_complete || is_stopped {
                return Ok(());
            }
            match matcher.parser.compute_mask() {
                Ok(mask) => words[..needed].copy_from_slice(&mask.as_slice()[..needed]),
                // No token continues what was accepted. `roll_back` leads out of there.
                Err(_) if matcher.parser.stop_reason() == StopReason::NoExtensionBias => {}
                Err(error) => return Err(error),
            }
            Ok(())
        })?;
        if self.may_end() {
            for id in self.vocabulary.stop_ids() {
                words[*id as usize / 32] |= 1 << (id % 32);
            }
        }
        self.end_numbers(words);
        Ok(())
    }

    /// Leaves out tokens that would make a number too long, unless there are no other tokens.
    fn end_numbers(&self, words: &mut [u32]) {
        let bytes = |id: &u32| self.vocabulary.bytes(*id);
        let last = self.accepted.last().and_then(|id| bytes(id).last());
        if self.origin.kind != GrammarKind::JsonSchema || !last.is_some_and(|b| is_of_number(*b)) {
            return;
        }
        let Some(number) = Begun::at_end_of(self.accepted.iter().map(bytes)) else { return };
        let is_set = |words: &[u32], id: u32| words[id as usize / 32] >> (id % 32) & 1 != 0;
        let too_long: Vec<u32> = self
            .vocabulary
            .number_ids()
            .iter()
            .copied()
            .filter(|id| is_set(words, *id) && !number.allows(bytes(id)))
            .collect();
        let all: u32 = words.iter().map(|word| word.count_ones()).sum();
        if too_long.len() as u32 == all {
            return;
        }
        for id in too_long {
            words[id as usize / 32] &= !(1 << (id % 32));
        }
    }

    fn refusal(token: u32, index: usize) -> Failure {
        Failure::invalid(format!("the grammar does not allow token {token} at index {index}"))
    }

    pub fn accept(&mut self, tokens: &[u32]) -> Outcome<()> {
        // A stop token can only be the last: nothing follows it.
        let (texts, stop) = match tokens.split_last() {
            Some((last, before)) if self.vocabulary.is_stop(*last) => (before, Some(*last)),
            _ => (tokens, None),
        };
        let allowed = self.compute("the grammar", |matcher| matcher.take(texts))?;
        let refused = match stop {
            _ if allowed < texts.len() => Some((texts[allowed], allowed)),
            Some(token) if !self.may_end() => Some((token, texts.len())),
            _ => None,
        };
        if let Some((token, index)) = refused {
            self.compute("the grammar", |matcher| matcher.put_back(allowed))?;
            return Err(Matcher::refusal(token, index));
        }
        self.is_ended |= stop.is_some();
        Ok(())
    }

    /// Whether `text` follows, however it is spelled. What does of its beginning is taken.
    pub fn accept_text(&mut self, text: &[u8]) -> Outcome<bool> {
        let vocabulary = self.vocabulary.clone();
        self.compute("the text under the grammar", |matcher| {
            for part in text.chunks(TEXT_PART_BYTES) {
                let Some(tokens) = vocabulary.spelled(part) else { return Ok(false) };
                if matcher.take(&tokens)? < tokens.len() {
                    return Ok(false);
                }
            }
            Ok(true)
        })
    }

    /// How many of `tokens` follow, from the first; that many are taken.
    fn take(&mut self, tokens: &[u32]) -> anyhow::Result<usize> {
        for (index, token) in tokens.iter().enumerate() {
            let may_follow = !self.is_ended && !self.is_complete && self.vocabulary.is_text(*token);
            if !may_follow || self.parser.validate_tokens_raw(&[*token])? == 0 {
                return Ok(index);
            }
            let backtrack = self.parser.consume_token(*token)?;
            anyhow::ensure!(backtrack == 0, "the grammar takes back what it has matched");
            self.accepted.push(*token);
            self.look()?;
        }
        Ok(tokens.len())
    }

    fn put_back(&mut self, count: usize) -> anyhow::Result<()> {
        self.parser.rollback(count)?;
        self.accepted.truncate(self.accepted.len() - count);
        self.look()
    }

    /// Takes back the last tokens; a stop token counts as one.
    pub fn roll_back(&mut self, count: usize) -> Outcome<()> {
        let held = self.accepted.len() + usize::from(self.is_ended);
        if count > held {
            return Err(Failure::invalid(format!(
                "{count} tokens cannot be rolled back: the matcher has accepted {held}"
            )));
        }
        if count == 0 {
            return Ok(());
        }
        let stop_count = usize::from(self.is_ended);
        self.compute("the grammar", |matcher| matcher.put_back(count - stop_count))?;
        self.is_ended = false;
        Ok(())
    }

    /// The tokens that the model's own encoder makes of the text that must follow; at most `most`,
    /// and none where the encoder would join the last with what comes after.
    pub fn forced(&mut self, most: usize) -> Outcome<Vec<u32>> {
        if most == 0 || self.may_end || self.is_ended || self.is_complete {
            return Ok(Vec::new());
        }
        let is_forced = self.compute("the forced tokens of the grammar", |matcher| {
            Ok(matcher.parser.parser.with_recognizer(|recognizer| {
                recognizer.trie_started("forced");
                let second = (0..=u8::MAX).filter(|byte| recognizer.byte_allowed(*byte)).nth(1);
                recognizer.trie_finished();
                second.is_none()
            }))
        })?;
        if !is_forced {
            return Ok(Vec::new());
        }
        // In a copy: forcing changes the parser, and gives up where much text is forced.
        let before = held_bytes();
        let mut fork = self.fork();
        let found = fork.compute("the forced tokens of the grammar", |fork| {
            let _forcing = Forcing::begin();
            let tokens = fork.parser.compute_ff_tokens();
            let following_count = fork.parser.validate_tokens_raw(&tokens)?;
            let is_text = |token: &u32| fork.vocabulary.is_text(*token);
            Ok(tokens.into_iter().take(following_count).take_while(is_text).collect::<Vec<_>>())
        });
        drop(fork);
        let mut tokens = found.unwrap_or_default();
        self.grown_bytes += held_bytes() - before - (tokens.capacity() * size_of::<u32>()) as isize;
        tokens.truncate(most);
        Ok(tokens)
    }
}
