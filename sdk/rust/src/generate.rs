//! Generator: lets a model go on with a context.
//!
//! The loop runs in the host: it draws the next token while the program shows the last one. Where the program
//! guesses what comes next (`draft`), or the host runs as many loops as it can, the program asks for each
//! step; the tokens are the same.
use crate::context::{Context, Distribution};
use crate::drafts::{ByClosure, DraftCounts, PromptDrafts};
use crate::draw::{
    no_token_left, DrawEnd, DrawRule, Drawer, DrawnToken, Draws, LogitBias, TokenProbability,
};
use crate::hook::{Hook, HookSet, Hooks, NoHooks};
use crate::host::{self, Handle};
use crate::raw;
use crate::sampling;
use crate::stop::ShownText;
use crate::stream::Values;
use crate::{Error, ErrorCode, Grammar, HostFuture, Result};
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

    pub(crate) fn draw_rule(&self) -> DrawRule {
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

/// A value that a function of the program may return to the SDK that calls it: one that shows text, or a hook.
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

/// The source of tokens.
enum Source {
    /// Not begun.
    Nothing,
    /// The loop of the host.
    Loop(Handle),
    /// Steps that the program asks for.
    Steps,
}

/// Lets the model go on: await it for all of the text, [`stream`](Generator::stream) it, or take it token by
/// token. It begins when it is first asked. Until its end it has the context for itself; when it is dropped
/// before, the context ends with the last token that was given.
///
/// A context that is full ends a generation as `max_tokens` does, with [`FinishReason::Length`].
#[must_use = "a Generator does nothing until it is awaited or asked for its next()"]
pub struct Generator<'a, H = NoHooks> {
    context: &'a mut Context,
    options: GenerateOptions,
    stop_tokens: Vec<u32>,
    hooks: H,
    source: Source,
    drawer: Drawer,
    healed: Vec<u8>, // The bytes of the prompt with which its first token begins.
    pending: VecDeque<DrawnToken>, // Drawn, and not given yet.
    end: DrawEnd,    // What the host said of the end.
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
            hooks: NoHooks,
            source: Source::Nothing,
            drawer: Drawer::new(options.draw_rule(), options.seed),
            healed: Vec::new(),
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
}

impl<'a, H: HookSet<'a>> Generator<'a, H> {
    fn with_hooks(self, set: impl FnOnce(&mut Hooks<'a>)) -> Generator<'a, Hooks<'a>> {
        let mut hooks = self.hooks.into_hooks();
        set(&mut hooks);
        Generator {
            context: self.context,
            options: self.options,
            stop_tokens: self.stop_tokens,
            hooks,
            source: self.source,
            drawer: self.drawer,
            healed: self.healed,
            pending: self.pending,
            end: self.end,
            shown: self.shown,
            answer: self.answer,
            is_closed: self.is_closed,
        }
    }

    /// Guesses what comes next: `guess` gives at most 64 tokens, or none, of what the context holds. The guess is
    /// computed in one pass with the next draw, and each of its tokens that is drawn saves a pass. It never
    /// changes what is drawn.
    pub fn draft(self, guess: impl FnMut(&Context) -> Vec<u32> + 'a) -> Generator<'a, Hooks<'a>> {
        self.with_hooks(|hooks| hooks.draft = Some(Box::new(ByClosure(guess))))
    }
    /// The same with a guess from the text of the context: [`drafts_from`](crate::drafts_from) makes it.
    pub fn draft_from(self, drafts: PromptDrafts) -> Generator<'a, Hooks<'a>> {
        self.with_hooks(|hooks| hooks.draft = Some(Box::new(drafts)))
    }

    /// Changes the distribution before a token is drawn from it. It has the `top_k` most probable tokens; under a grammar,
    /// those that may come. The hook sets probabilities and drops tokens. They need not add up to 1, nor fall.
    pub fn reshape<R: Shown + 'a>(
        self,
        hook: impl AsyncFnMut(&mut Distribution) -> R + 'a,
    ) -> Generator<'a, Hooks<'a>> {
        self.with_hooks(|hooks| hooks.reshape = Some(Hook::new(hook)))
    }
    /// Changes the logits of the whole vocabulary before the rule and a grammar act on them. The probabilities that are
    /// reported stay those of the model.
    ///
    /// A hook waits for whatever it needs, such as another context. [`Mutex`](crate::Mutex) holds what two hooks use.
    pub fn logits<R: Shown + 'a>(
        self,
        hook: impl AsyncFnMut(&mut [f32]) -> R + 'a,
    ) -> Generator<'a, Hooks<'a>> {
        self.with_hooks(|hooks| hooks.logits = Some(Hook::new(hook)))
    }
    /// Calls the hook with each token that the context gets, also with the one that ends the generation, before its text
    /// is shown. A second context can follow the first by it.
    pub fn on_token<R: Shown + 'a>(
        self,
        mut hook: impl AsyncFnMut(u32) -> R + 'a,
    ) -> Generator<'a, Hooks<'a>> {
        let hook = Hook::new(async move |token: &mut u32| hook(*token).await);
        self.with_hooks(|hooks| hooks.on_token = Some(hook))
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

    /// The pieces as a [`Stream`](crate::Stream), up to its end or its first error.
    pub fn into_stream(self) -> Values<'a, Result<Piece>>
    where
        H: 'a,
    {
        Values::of_steps(self, async |mut generator| {
            let piece = generator.next().await;
            (generator, piece)
        })
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
        if self.hooks.draws() {
            self.take(token).await?;
        } else {
            self.context.note_drawn(token);
        }
        if let Some(hook) = self.hooks.get_mut().and_then(|hooks| hooks.on_token.as_mut()) {
            hook.call(&mut { token }).await?;
        }
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
        self.drawer.rule_handle(&self.context.model)?;
        self.check_options()?;
        self.drawer.report_top(self.options.top_logprobs);
        if let Some(grammar) = &self.options.grammar {
            self.drawer.constrain(grammar.matcher()?);
        }
        self.context.queue_turns(true).await?;
        self.source = Source::Steps;
        if self.options.heal && !self.context.turns.answer_open {
            self.begin_healing().await?;
        }
        let asks_for_steps = self.hooks.drafts() || self.hooks.draws() || self.options.heal;
        if !asks_for_steps && self.options.max_tokens > 0 {
            self.begin_loop()?;
        }
        Ok(())
    }

    /// The options do not exclude each other.
    fn check_options(&self) -> Result<()> {
        let refused = |why: &str| Err(Error::invalid(format!("{why}: use one or the other")));
        if self.hooks.reshapes() {
            if sampling::adjusts_logits(self.drawer.rule()) {
                return refused(
                    "reshape works on probabilities; penalties, logit_bias, top_n_sigma and DRY work on logits",
                );
            }
            if self.hooks.get().is_some_and(|hooks| hooks.logits.is_some()) {
                return refused(
                    "reshape works on probabilities, and logits on what they are made of",
                );
            }
        }
        if self.hooks.draws() && self.hooks.drafts() {
            let name = if self.hooks.reshapes() { "reshape" } else { "logits" };
            return refused(&format!(
                "{name} changes each draw, and draft needs several in one pass"
            ));
        }
        if self.options.heal && self.options.grammar.is_some() {
            return refused("heal changes the last token of the prompt, which no grammar knows");
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
        if texts.get(last).is_none_or(Vec::is_empty) || kinds[last] > BYTE {
            return Ok(());
        }
        let may_come =
            |token: usize| kinds[token] <= BYTE && texts[token].starts_with(&texts[last]);
        let allowed: Vec<usize> = (0..kinds.len()).filter(|token| may_come(*token)).collect();
        if allowed.len() < 2 {
            return Ok(());
        }
        self.context.rewind(count - 1).await?;
        let mut mask = vec![0; texts.len().div_ceil(32)];
        for token in allowed {
            mask[token / 32] |= 1 << (token % 32);
        }
        self.drawer.allow(mask);
        self.healed = texts[last].clone();
        Ok(())
    }

    /// As many loops as the host allows may be running: then the program asks for each step.
    fn begin_loop(&mut self) -> Result<()> {
        let rule = self.drawer.rule_handle(&self.context.model)?;
        let matchers = self.drawer.matcher_handles();
        let begun = Handle::of_call(unsafe {
            raw::draw::generate(
                self.context.handle(),
                rule,
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

    /// One pass. A step that does not fit the context any more ends the generation; those before it did.
    async fn draw_step(&mut self) -> Result<Draws> {
        let step = if self.hooks.reshapes() {
            self.draw_reshaped().await
        } else if self.hooks.draws() {
            self.draw_of_logits().await
        } else {
            self.draw_in_host().await
        };
        self.drawer.allow(Vec::new()); // What a healed prompt restricts is the first token alone.
        match step {
            Err(error) if self.is_full(&error) => {
                Ok(Draws { end: DrawEnd::Length, tokens: Vec::new(), draft_count: 0 })
            }
            other => other,
        }
    }
    fn is_full(&self, error: &Error) -> bool {
        error.code == ErrorCode::OutOfRange
            && *error != no_token_left()
            && !self.answer.tokens.is_empty()
    }

    /// A draw by the host, with the guess of what comes next.
    async fn draw_in_host(&mut self) -> Result<Draws> {
        self.context.end_loop(); // All that the step before drew was given.
        let mut drafts = Vec::new();
        let guess = self.hooks.get_mut().and_then(|hooks| hooks.draft.as_mut());
        if let (Some(guess), true) = (guess, self.drawer.mask().is_empty()) {
            drafts = guess.guess(self.context);
        }
        // The part of a guess that can save a pass.
        let left = (self.options.max_tokens as usize).saturating_sub(self.answer.tokens.len());
        drafts.truncate(left.max(1) - 1);
        if let Some(stop) = drafts.iter().position(|each| self.stop_tokens.contains(each)) {
            drafts.truncate(stop);
        }
        let step = self.context.begin_verify(&drafts, &mut self.drawer)?;
        let draws = step.await?;
        self.drawer.note(&draws);
        let drawn = draws.tokens.iter().zip(&drafts);
        let accepted = drawn.take_while(|(each, draft)| each.token.token == **draft).count() as u32;
        let guess = self.hooks.get_mut().and_then(|hooks| hooks.draft.as_mut());
        if let (Some(guess), false) = (guess, drafts.is_empty()) {
            guess.note(DraftCounts { computed: draws.draft_count, accepted });
        }
        Ok(draws)
    }

    /// One of logits that the program changed.
    async fn draw_of_logits(&mut self) -> Result<Draws> {
        let said = self.context.next_logits().await?;
        let mut changed = said.clone();
        if let Some(hook) = self.hooks.get_mut().and_then(|hooks| hooks.logits.as_mut()) {
            hook.call(&mut changed).await?;
        }
        let token = self.drawer.token_of(self.context, &changed).await?;
        Ok(Draws::one(DrawnToken::of_logits(said, token, self.options.top_logprobs)))
    }

    /// One of a distribution that the program reshaped; of the tokens that may come, where not all may.
    async fn draw_reshaped(&mut self) -> Result<Draws> {
        const WHOLE_VOCABULARY: u32 = u32::MAX;
        let mask = self.drawer.allowed().await?;
        if !mask.is_empty() && mask.iter().all(|word| *word == 0) {
            return Ok(Draws { end: DrawEnd::NoTokenAllowed, tokens: Vec::new(), draft_count: 0 });
        }
        let top_k = if mask.is_empty() { self.options.top_k } else { 0 };
        let wanted = if top_k == 0 { WHOLE_VOCABULARY } else { top_k };
        let given = self.context.next_distribution(wanted).await?;
        let mut reshaped = given.clone();
        reshaped.tokens.retain(|each| sampling::is_allowed(&mask, each.token));
        if let Some(hook) = self.hooks.get_mut().and_then(|hooks| hooks.reshape.as_mut()) {
            hook.call(&mut reshaped).await?;
        }
        reshaped.tokens.retain(|each| each.probability > 0.0);
        if reshaped.tokens.is_empty() {
            return Err(Error::invalid("reshape left no token with a probability above 0"));
        }
        let token = self.drawer.token_of_distribution(&reshaped);
        let probability = given.probability_of(token);
        Ok(Draws::one(DrawnToken {
            token: TokenProbability { token, probability },
            is_forced: false,
            top: Vec::new(),
        }))
    }

    /// The context and the matchers get a token that the program drew.
    async fn take(&mut self, token: u32) -> Result<()> {
        self.context.append(&[token])?;
        for each in self.drawer.matchers() {
            if each.accept(&[token]).await? {
                self.end = DrawEnd::GrammarComplete; // With this token.
            }
        }
        Ok(())
    }
}

impl<'a, H: HookSet<'a> + 'a> IntoFuture for Generator<'a, H> {
    type Output = Result<Generation>;
    type IntoFuture = Pin<Box<dyn Future<Output = Result<Generation>> + 'a>>;
    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.collect())
    }
}
