//! Generator: lets a model go on with a context.
//!
//! The loop runs in the host: it draws the next token while the program shows the last one. Where the program
//! guesses what comes next (`draft`), or the host runs as many loops as it can, the program asks for each
//! step; the tokens are the same.
use crate::context::Context;
use crate::draw::{
    no_token_left, DrawEnd, DrawRule, DrawnToken, Draws, LogitBias, Random, TokenProbability,
};
use crate::host::{self, Handle};
use crate::raw;
use crate::stop::ShownText;
use crate::{Error, ErrorCode, Grammar, HostFuture, Matcher, Result};
use std::collections::VecDeque;
use std::future::{Future, IntoFuture};
use std::pin::Pin;

/// How a text is generated. The defaults take the most probable token each time.
#[derive(Clone, Debug)]
pub struct GenerateOptions {
    /// 0: the most probable token. At most 1,000,000.
    pub temperature: f64,
    /// Draw among so many of the most probable tokens; 0: among all.
    pub top_k: u32,
    /// 0 to 1: among the fewest tokens that hold this share; 1: among all.
    pub top_p: f64,
    /// 0 to 1: among tokens of at least this share of the most probable one; 0: among all.
    pub min_p: f64,
    /// Divides positive logits of tokens that came, and multiplies negative ones.
    pub repetition_penalty: f64,
    /// Subtracted from the logit of each token that came.
    pub presence_penalty: f64,
    /// Subtracted as often as the token came.
    pub frequency_penalty: f64,
    /// Added to logits.
    pub logit_bias: Vec<LogitBias>,
    /// Further rules of a draw; the numbers above count instead of its own.
    pub rule: DrawRule,
    /// Another seed draws other tokens.
    pub seed: u64,
    /// At most so many.
    pub max_tokens: u32,
    /// The answer is one of its texts, and ends with it.
    pub grammar: Option<Grammar>,
    /// So many of the most probable tokens come with each, at most 64.
    pub top_logprobs: u32,
    /// Texts that end it; they are not shown.
    pub stop: Vec<String>,
    /// Go on past tokens that end a text or a turn.
    pub ignore_stop_tokens: bool,
    /// Special tokens are part of the text.
    pub keep_special: bool,
    /// These special tokens are, where the others are not.
    pub kept_special: Vec<u32>,
    /// Lets the last token of the prompt become a longer one that begins with its bytes. A prompt that ends in the middle
    /// of a word then continues as text does. It cannot be combined with a grammar.
    pub heal: bool,
}

impl Default for GenerateOptions {
    fn default() -> Self {
        GenerateOptions {
            temperature: 0.0,
            top_k: 0,
            top_p: 1.0,
            min_p: 0.0,
            repetition_penalty: 1.0,
            presence_penalty: 0.0,
            frequency_penalty: 0.0,
            logit_bias: Vec::new(),
            rule: DrawRule::default(),
            seed: 0,
            max_tokens: 128,
            grammar: None,
            top_logprobs: 0,
            stop: Vec::new(),
            ignore_stop_tokens: false,
            keep_special: false,
            kept_special: Vec::new(),
            heal: false,
        }
    }
}

impl GenerateOptions {
    /// The defaults with so many tokens at most.
    pub fn max_tokens(count: u32) -> GenerateOptions {
        GenerateOptions { max_tokens: count, ..GenerateOptions::default() }
    }

    fn draw_rule(&self) -> DrawRule {
        DrawRule {
            temperature: self.temperature,
            top_k: self.top_k,
            top_p: self.top_p,
            min_p: self.min_p,
            repetition_penalty: self.repetition_penalty,
            presence_penalty: self.presence_penalty,
            frequency_penalty: self.frequency_penalty,
            logit_bias: self.logit_bias.clone(),
            ..self.rule.clone()
        }
    }
}

/// Why a generation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FinishReason {
    /// Not ended.
    Running,
    /// A token that ends a text or a turn was drawn.
    StopToken,
    /// One of the stop texts appeared.
    StopText,
    /// As many tokens as asked for, or as the context holds.
    Length,
    /// The text is complete under its grammar: nothing may follow.
    Grammar,
    /// The program ended it.
    Stopped,
}

impl FinishReason {
    /// "stop" or "length", as the OpenAI interface spells them; "" while it goes on.
    pub fn name(self) -> &'static str {
        match self {
            FinishReason::Running => "",
            FinishReason::Length => "length",
            _ => "stop",
        }
    }
}

/// One token, and the text that may be shown now that it is known; often none.
#[derive(Clone, Debug)]
pub struct Piece {
    /// The token.
    pub token: u32,
    /// The probability in the full softmax, before temperature and the like.
    pub probability: f32,
    /// The text that may be shown now.
    pub text: String,
    /// The grammar left no choice.
    pub is_forced: bool,
    /// The most probable ones in its place, as `top_logprobs` asks for.
    pub top: Vec<TokenProbability>,
}

/// The answer of a generation.
#[derive(Clone, Debug)]
pub struct Generation {
    /// Without the token that ended it.
    pub tokens: Vec<u32>,
    /// The text that was shown.
    pub text: String,
    /// Why it ended.
    pub finish_reason: FinishReason,
    /// The log-probability of all drawn tokens, with the one that ended it, in nats.
    pub log_probability: f64,
    /// How many were.
    pub drawn_count: u32,
}

impl Generation {
    /// The mean log-probability of a token; 0 if none was drawn.
    pub fn mean_log_probability(&self) -> f64 {
        if self.drawn_count == 0 {
            0.0
        } else {
            self.log_probability / f64::from(self.drawn_count)
        }
    }
}

/// A value that a function that shows text may return.
pub trait Shown {
    /// An error ends the generation.
    fn shown(self) -> Result<()>;
}
impl Shown for () {
    fn shown(self) -> Result<()> {
        Ok(())
    }
}
impl Shown for Result<()> {
    fn shown(self) -> Result<()> {
        self
    }
}

type Draft = Box<dyn FnMut(&Context) -> Vec<u32>>;

/// The source of tokens.
enum Source {
    /// Not begun.
    Nothing,
    /// The loop of the host.
    Loop(Handle),
    /// Steps that the program asks for, with the rule.
    Steps(Handle),
}

/// Lets the model go on: await it for all of the text, [`stream`](Generator::stream) it, or take it token by
/// token. It begins when it is first asked. Until its end it has the context for itself; when it is dropped
/// before, the context ends with the last token that was given.
///
/// A context that is full ends a generation as `max_tokens` does, with [`FinishReason::Length`].
#[must_use = "a Generator does nothing until it is awaited or asked for its next()"]
pub struct Generator<'a> {
    context: &'a mut Context,
    options: GenerateOptions,
    stop_tokens: Vec<u32>,
    draft: Option<Draft>,
    source: Source,
    matcher: Option<Matcher>,
    mask: Vec<u32>,  // For the first draw of a healed prompt.
    healed: Vec<u8>, // The bytes of the prompt with which its first token begins.
    random: Random,
    pending: VecDeque<DrawnToken>, // Drawn, and not given yet.
    end: DrawEnd,                  // What the host said of the end.
    shown: ShownText,
    answer: Generation,
    is_closed: bool,
}

impl<'a> Generator<'a> {
    pub(crate) fn new(context: &'a mut Context, options: GenerateOptions) -> Generator<'a> {
        let stop_tokens = if options.ignore_stop_tokens {
            Vec::new()
        } else {
            context.model.info().stop_tokens.clone()
        };
        Generator {
            stop_tokens,
            draft: None,
            source: Source::Nothing,
            matcher: None,
            mask: Vec::new(),
            healed: Vec::new(),
            random: Random::new(options.seed),
            pending: VecDeque::new(),
            end: DrawEnd::None,
            shown: ShownText::new(&options.stop),
            answer: Generation {
                tokens: Vec::new(),
                text: String::new(),
                finish_reason: FinishReason::Running,
                log_probability: 0.0,
                drawn_count: 0,
            },
            is_closed: false,
            context,
            options,
        }
    }

    /// Guesses what comes next: `guess` gives at most 64 tokens, or none, of what the context holds. The guess is
    /// computed in one pass with the next draw, and each of its tokens that is drawn saves a pass. It never
    /// changes what is drawn.
    pub fn draft(mut self, guess: impl FnMut(&Context) -> Vec<u32> + 'static) -> Generator<'a> {
        self.draft = Some(Box::new(guess));
        self
    }

    /// All of it, without showing anything. Awaiting the generator does the same.
    pub async fn collect(mut self) -> Result<Generation> {
        while self.next().await?.is_some() {}
        Ok(self.take_answer())
    }

    /// All of it, while each text that may be shown is given to `show` as it comes: `session::send`, or a closure.
    pub async fn stream<S: Shown>(mut self, mut show: impl FnMut(&str) -> S) -> Result<Generation> {
        while let Some(piece) = self.next().await? {
            if !piece.text.is_empty() {
                show(&piece.text).shown()?;
            }
        }
        Ok(self.take_answer())
    }

    fn take_answer(&mut self) -> Generation {
        let empty = Generation {
            tokens: Vec::new(),
            text: String::new(),
            finish_reason: self.answer.finish_reason,
            log_probability: 0.0,
            drawn_count: 0,
        };
        std::mem::replace(&mut self.answer, empty)
    }

    /// The answer that was generated so far.
    pub fn answer(&self) -> &Generation {
        &self.answer
    }
    /// The context that it goes on with. While the loop of the host runs, the host may have drawn
    /// more tokens than the context has.
    pub fn context(&self) -> &Context {
        self.context
    }

    /// Ends it before its end: the context ends with the last token that was given.
    pub fn end(&mut self) {
        if !self.is_closed {
            self.answer.finish_reason = FinishReason::Stopped;
            self.close();
        }
    }

    /// The next token; nothing when the generation has ended. The token that ends it is given only when text was
    /// still held back.
    pub async fn next(&mut self) -> Result<Option<Piece>> {
        if self.is_closed {
            return Ok(None);
        }
        match self.step().await {
            Ok(piece) => Ok(piece),
            Err(error) => {
                self.is_closed = true;
                self.source = Source::Nothing;
                Err(error)
            }
        }
    }

    async fn step(&mut self) -> Result<Option<Piece>> {
        if matches!(self.source, Source::Nothing) {
            self.begin().await?;
        }
        if self.options.max_tokens == 0 {
            self.answer.finish_reason = FinishReason::Length;
            return Ok(self.given(None));
        }
        let Some(drawn) = self.drawn_next().await? else { return Ok(self.given(None)) };
        let token = drawn.token.token;
        self.context.note_drawn(token);
        self.answer.log_probability += drawn.token.log_probability();
        self.answer.drawn_count += 1;
        let mut piece = Piece {
            token,
            probability: drawn.token.probability,
            text: String::new(),
            is_forced: drawn.is_forced,
            top: drawn.top,
        };
        if self.stop_tokens.contains(&token) {
            self.answer.finish_reason = FinishReason::StopToken;
            return Ok(self.given(Some(piece)));
        }
        self.answer.tokens.push(token);
        let keeps = self.options.keep_special || self.options.kept_special.contains(&token);
        let bytes = self.context.model.detokenize(&[token], keeps).await?;
        // The prompt already has the first bytes of a token that healed it.
        let begin = std::mem::take(&mut self.healed).len().min(bytes.len());
        piece.text = self.shown.push(&bytes[begin..]);
        if self.shown.is_stopped() {
            self.answer.finish_reason = FinishReason::StopText;
        } else if self.answer.tokens.len() >= self.options.max_tokens as usize {
            self.answer.finish_reason = FinishReason::Length;
        }
        if self.answer.finish_reason != FinishReason::Running {
            return Ok(self.given(Some(piece)));
        }
        self.answer.text += &piece.text;
        Ok(Some(piece))
    }

    /// The last piece, if it brings any text.
    fn given(&mut self, last: Option<Piece>) -> Option<Piece> {
        let held = self.close();
        let mut piece = last.unwrap_or_else(|| Piece {
            token: self.answer.tokens.last().copied().unwrap_or(0),
            probability: 0.0,
            text: String::new(),
            is_forced: false,
            top: Vec::new(),
        });
        // The text of the piece is not in the answer yet.
        self.answer.text += &piece.text;
        piece.text += &held;
        self.answer.text += &held;
        self.context.note_answer(&self.answer.text.clone());
        (!piece.text.is_empty()).then_some(piece)
    }

    /// Ends it; the text that was held back.
    fn close(&mut self) -> String {
        self.is_closed = true;
        // Tokens that were drawn and not given are taken back before the context is used again.
        let is_whole = self.end != DrawEnd::None && self.pending.is_empty();
        self.source = Source::Nothing;
        if is_whole {
            self.context.end_loop();
        }
        let held = self.shown.finish();
        if self.answer.finish_reason == FinishReason::Stopped {
            self.answer.text += &held;
            self.context.note_answer(&self.answer.text.clone());
        }
        held
    }

    async fn begin(&mut self) -> Result<()> {
        let rule = self.options.draw_rule().create(&self.context.model)?;
        if self.options.heal && self.options.grammar.is_some() {
            return Err(Error::invalid(
                "heal changes the last token of the prompt, which no grammar knows: use one or the other",
            ));
        }
        if let Some(grammar) = &self.options.grammar {
            self.matcher = Some(grammar.matcher()?);
        }
        self.context.queue_turns(true).await?;
        self.source = Source::Steps(rule);
        if self.options.heal && !self.context.turns.answer_open {
            self.begin_healing().await?;
        }
        if self.draft.is_none() && self.options.max_tokens > 0 && !self.options.heal {
            self.begin_loop()?;
        }
        Ok(())
    }

    /// Takes the last token of the prompt back and restricts the first draw to tokens that begin with its bytes. The
    /// method is that of "The Art of Prompt Design: Prompt Boundaries and Token Healing" (Lundberg, 2023), for one token.
    async fn begin_healing(&mut self) -> Result<()> {
        const BYTE: u8 = 1; // Tokens of higher kinds are not text.
        let count = self.context.token_count();
        let Some(last) = self.context.tokens().last().map(|each| *each as usize) else {
            return Ok(());
        };
        if count < 2 {
            return Ok(());
        }
        let model = self.context.model().clone();
        let kinds = model.token_kinds(0, model.info().vocabulary_size).await?;
        let texts = model.vocabulary().await?;
        if texts.get(last).map_or(true, Vec::is_empty) || kinds[last] > BYTE {
            return Ok(());
        }
        let may_come =
            |token: usize| kinds[token] <= BYTE && texts[token].starts_with(&texts[last]);
        let allowed: Vec<usize> = (0..kinds.len()).filter(|token| may_come(*token)).collect();
        if allowed.len() < 2 {
            return Ok(());
        }
        self.context.rewind(count - 1).await?;
        self.mask = vec![0; (texts.len() + 31) / 32];
        for token in allowed {
            self.mask[token / 32] |= 1 << (token % 32);
        }
        self.healed = texts[last].clone();
        Ok(())
    }

    fn matchers(&self) -> Vec<i32> {
        self.matcher.iter().map(Matcher::handle).collect()
    }

    /// As many loops as the host allows may be running: then the program asks for each step.
    fn begin_loop(&mut self) -> Result<()> {
        let Source::Steps(rule) = &self.source else { return Ok(()) };
        let matchers = self.matchers();
        let begun = Handle::of_call(unsafe {
            raw::draw::generate(
                self.context.handle(),
                rule.get(),
                matchers.as_ptr(),
                host::count(&matchers),
                self.options.seed,
                self.options.max_tokens,
                self.stop_tokens.as_ptr(),
                host::count(&self.stop_tokens),
                self.options.top_logprobs,
                0,
            )
        });
        match begun {
            Ok(begun) => {
                self.context.begin_loop();
                self.source = Source::Loop(begun);
                Ok(())
            }
            Err(error) if error.code == ErrorCode::QuotaExceeded => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Nothing: the generation has ended, and says why.
    async fn drawn_next(&mut self) -> Result<Option<DrawnToken>> {
        loop {
            if let Some(drawn) = self.pending.pop_front() {
                return Ok(Some(drawn));
            }
            match self.end {
                DrawEnd::None => {}
                DrawEnd::NoTokenAllowed => return Err(no_token_left()),
                DrawEnd::GrammarComplete => self.answer.finish_reason = FinishReason::Grammar,
                DrawEnd::StopToken => self.answer.finish_reason = FinishReason::StopToken,
                DrawEnd::Length | DrawEnd::Stopped => {
                    self.answer.finish_reason = FinishReason::Length
                }
            }
            if self.end != DrawEnd::None {
                return Ok(None);
            }
            let draws = match &self.source {
                Source::Loop(running) => {
                    let call = unsafe { raw::draw::next_draws(running.get(), 1) };
                    HostFuture::new(call, Draws::decode).await?
                }
                _ => self.draw_step().await?,
            };
            self.end = draws.end;
            self.pending.extend(draws.tokens);
        }
    }

    /// One pass, with the guess of what comes next.
    async fn draw_step(&mut self) -> Result<Draws> {
        let Source::Steps(rule) = &self.source else { return Err(no_token_left()) };
        self.context.end_loop(); // All that the step before drew was given.
        let mask = std::mem::take(&mut self.mask);
        let mut drafts = Vec::new();
        if let (Some(guess), true) = (&mut self.draft, mask.is_empty()) {
            drafts = guess(self.context);
        }
        let is_greedy = self.options.draw_rule().is_greedy();
        let count = drafts.len() + 1;
        let randoms = if is_greedy { vec![0.0; count] } else { self.random.look_ahead(count) };
        let matchers = self.matchers();
        let call = unsafe {
            raw::draw::verify(
                self.context.handle(),
                rule.get(),
                matchers.as_ptr(),
                host::count(&matchers),
                mask.as_ptr(),
                host::count(&mask),
                drafts.as_ptr(),
                host::count(&drafts),
                randoms.as_ptr(),
                host::count(&randoms),
                self.options.top_logprobs,
                1,
            )
        };
        let step = HostFuture::new(call, Draws::decode);
        self.context.begin_loop();
        match step.await {
            Ok(draws) => {
                for _ in draws.tokens.iter().filter(|each| !each.is_forced && !is_greedy) {
                    self.random.use_one();
                }
                Ok(draws)
            }
            // The step does not fit the context any more; those before it did.
            Err(error) if error.code == ErrorCode::OutOfRange && !self.answer.tokens.is_empty() => {
                Ok(Draws { end: DrawEnd::Length, tokens: Vec::new() })
            }
            Err(error) => Err(error),
        }
    }
}

impl<'a> IntoFuture for Generator<'a> {
    type Output = Result<Generation>;
    type IntoFuture = Pin<Box<dyn Future<Output = Result<Generation>> + 'a>>;
    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.collect())
    }
}
