//! Context: a text that the model has read, or is to read.
mod counters;
mod inner;
mod snapshots;
mod turns;

pub(crate) use counters::to_numbers;
pub use counters::{Counters, Distribution, Pass};
pub use inner::Inner;
pub use snapshots::{SaveOptions, SnapshotInfo, SnapshotList};

use crate::chat::Turns;
use crate::draw::{no_token_left, Drawer, DrawnToken, Draws};
use crate::future::to_handle;
use crate::generate::{GenerateOptions, Generation, Generator};
use crate::host::{self, checked_empty, Handle};
use crate::low::{Embeds, SharedPages};
use crate::model::TokenizeOptions;
use crate::raw;
use crate::{gather, Error, HostFuture, Model, Priority, Queue, Result};
use std::cell::Cell;
use std::time::Duration;

const APPEND_COUNT_MAX: usize = 262_144; // Of one call.

/// A program's hint for the time when a context's pages are no longer held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContextHint {
    /// Nothing.
    Nothing,
    /// The context will go on.
    WillResume,
    /// The program is done with the pages.
    Done,
    /// The pages are wanted again within that time; an hour at most counts.
    Keep(Duration),
    /// Many will share them as a prefix.
    SharedPrefix,
}

/// A fork, and what it generated.
#[derive(Debug)]
pub struct Branch {
    /// The context in which the text goes on.
    pub context: Context,
    /// The generated answer.
    pub answer: Generation,
}

/// A text that the model has read, or is to read, with its keys and values in pages that the host keeps.
///
/// What is appended is queued; [`flush`](Context::flush), [`prefill`](Context::prefill) and
/// [`generate`](Context::generate) compute it. Chat turns are queued too: the model's own template turns them
/// into tokens when they are needed, and a turn that is added later costs its own tokens only. A context goes
/// with its value; what is saved stays.
#[derive(Debug)]
pub struct Context {
    pub(crate) model: Model,
    queue: Queue,
    handle: Handle,
    output: Option<Embeds>,
    tokens: Vec<u32>,
    unknown_token_count: u32, // Before those in `tokens`.
    pub(crate) turns: Turns,
    /// The host may have queued tokens that are not wanted any more. It has so many for certain,
    /// and the further ones of `tokens` are not sent yet.
    known_count: Cell<Option<u32>>,
    beyond_context: bool,
    hint: (u32, u32),
}

impl Context {
    /// An empty context of the server's first model.
    pub fn create() -> Result<Context> {
        Context::of(&Model::open()?)
    }
    /// An empty context of that model.
    pub fn of(model: &Model) -> Result<Context> {
        Context::in_queue(model, &Queue::create(model, Priority::Normal)?)
    }
    /// A context whose commands take turns with those of other contexts in that queue.
    pub fn in_queue(model: &Model, queue: &Queue) -> Result<Context> {
        let handle = Handle::of_call(unsafe { raw::context::create(queue.handle()) })?;
        Ok(Context::with_handle(model, queue, handle))
    }
    fn with_handle(model: &Model, queue: &Queue, handle: Handle) -> Context {
        Context {
            model: model.clone(),
            queue: queue.clone(),
            handle,
            output: None,
            tokens: Vec::new(),
            unknown_token_count: 0,
            turns: Turns::default(),
            known_count: Cell::new(None),
            beyond_context: false,
            hint: (0, 0),
        }
    }

    /// Queues tokens after what is there.
    pub fn append(&mut self, tokens: &[u32]) -> Result<()> {
        if self.known_count.get().is_some() {
            self.tokens.extend_from_slice(tokens); // settle() sends them.
            return Ok(());
        }
        for part in tokens.chunks(APPEND_COUNT_MAX) {
            self.send_tokens(part)?;
            self.tokens.extend_from_slice(part);
        }
        Ok(())
    }
    /// Queues text. Special tokens in it are parsed; at the start of a context it begins with the begin-of-text
    /// token, where the model wants one.
    pub async fn append_text(&mut self, text: &str) -> Result<()> {
        let options = TokenizeOptions {
            begin_of_text: self.token_count() == 0,
            ..TokenizeOptions::default()
        };
        let tokens = self.model.tokenize(text, options).await?;
        self.append(&tokens)
    }

    /// Computes what is queued, up to where the model's answer begins where a turn is to be answered. Pages that
    /// exist already, in this context or any other that may be shared, are found instead.
    pub async fn prefill(&mut self) -> Result<Counters> {
        self.queue_turns(true).await?;
        self.begin_flush().await
    }
    /// The same, but a conversation ends after its last turn: more turns can follow, or its answer.
    pub async fn flush(&mut self) -> Result<Counters> {
        self.queue_turns(false).await?;
        self.begin_flush().await
    }
    fn begin_flush(&self) -> HostFuture<Counters> {
        HostFuture::new(unsafe { raw::context::flush(self.handle()) }, Counters::decode)
    }

    /// Computes what is queued, and gives what may follow: the `top_k` most probable tokens (0: 256). With
    /// nothing queued, what may follow the last token.
    pub async fn next_distribution(&mut self, top_k: u32) -> Result<Distribution> {
        let (embed, passed) = self.begin_pass().await?;
        let next = HostFuture::new(
            unsafe { raw::output::get_next_dist(self.queue.handle(), embed, top_k) },
            Distribution::decode,
        );
        passed.await?; // The error of the pass says more than that of a read after it.
        next.await
    }
    /// The same, as the logits of the whole vocabulary, in the order of ids.
    pub async fn next_logits(&mut self) -> Result<Vec<f32>> {
        let (embed, passed) = self.begin_pass().await?;
        let next = HostFuture::new(
            unsafe { raw::output::get_logits(self.queue.handle(), embed) },
            to_numbers,
        );
        passed.await?;
        next.await
    }
    async fn begin_pass(&mut self) -> Result<(i32, HostFuture<Counters>)> {
        self.queue_turns(true).await?;
        if self.output.is_none() {
            self.output = Some(Embeds::allocate(&self.queue, 1)?);
        }
        let embeds = &self.output.as_ref().expect("it is there").handles;
        let call = unsafe { raw::context::forward(self.handle(), embeds.as_ptr(), 1) };
        Ok((embeds[0], HostFuture::new(call, Counters::decode)))
    }

    /// Computes the queued tokens and returns an output for each of the last `count` of them, which the calls of
    /// [`low`](crate::low) read. If nothing is queued and `count` is 1, the output is that of the last token.
    pub async fn forward(&mut self, count: u32) -> Result<Pass> {
        self.queue_turns(true).await?;
        let embeds = Embeds::allocate(&self.queue, count)?;
        let call = unsafe { raw::context::forward(self.handle(), embeds.handles.as_ptr(), count) };
        Ok(Pass { counters: HostFuture::new(call, Counters::decode).await?, embeds })
    }

    /// Computes the queued tokens and draws the next one, in one step. The call appends nothing and advances no matcher.
    /// `out-of-range`: the drawer's matchers allow no token.
    pub async fn draw(&mut self, drawer: &mut Drawer) -> Result<DrawnToken> {
        self.queue_turns(true).await?;
        let (matchers, random) = (drawer.matcher_handles(), drawer.randoms(1)[0]);
        let rule = drawer.rule_handle(&self.model)?;
        let call = unsafe {
            raw::draw::forward_draw(
                self.handle(),
                rule,
                matchers.as_ptr(),
                host::count(&matchers),
                drawer.mask().as_ptr(),
                host::count(drawer.mask()),
                random,
                drawer.top_count(),
                0,
            )
        };
        let draws = HostFuture::new(call, Draws::decode).await?;
        drawer.note(&draws);
        draws.tokens.into_iter().next().ok_or_else(no_token_left)
    }

    /// Draws the next tokens and appends them. `drafts`, at most 64, are a guess at them. The call keeps the drafts that
    /// equal the drawn tokens, then adds one further drawn token. One pass gives what drawing token by token gives.
    pub async fn verify(&mut self, drafts: &[u32], drawer: &mut Drawer) -> Result<Draws> {
        self.queue_turns(true).await?;
        let draws = self.begin_verify(drafts, drawer)?.await?;
        for each in &draws.tokens {
            self.note_drawn(each.token.token);
        }
        self.end_loop();
        drawer.note(&draws);
        Ok(draws)
    }
    /// The tokens are queued even if the program does not wait for the result.
    pub(crate) fn begin_verify(
        &mut self,
        drafts: &[u32],
        drawer: &mut Drawer,
    ) -> Result<HostFuture<Draws>> {
        const QUEUES: u32 = 1;
        const COUNTS_DRAFTS: u32 = 4;
        let (matchers, randoms) = (drawer.matcher_handles(), drawer.randoms(drafts.len() + 1));
        let rule = drawer.rule_handle(&self.model)?;
        let call = unsafe {
            raw::draw::verify(
                self.handle(),
                rule,
                matchers.as_ptr(),
                host::count(&matchers),
                drawer.mask().as_ptr(),
                host::count(drawer.mask()),
                drafts.as_ptr(),
                host::count(drafts),
                randoms.as_ptr(),
                host::count(&randoms),
                drawer.top_count(),
                QUEUES | if drafts.is_empty() { 0 } else { COUNTS_DRAFTS },
            )
        };
        let step = HostFuture::new(call, Draws::decode);
        self.begin_loop();
        Ok(step)
    }

    /// The pages that hold the context's tokens, for [`low`](crate::low). They are read-only, and the context stays usable.
    pub async fn pages(&mut self) -> Result<SharedPages> {
        self.settle()?;
        let now = self.edit(raw::context::truncate, 0)?;
        let size = self.page_size();
        let count = now.committed_page_count + now.working_page_token_count.div_ceil(size);
        let mut handles = vec![0i32; count as usize];
        let into = handles.as_mut_ptr().cast();
        let returned = unsafe { raw::context::pages(self.handle(), 0, count, into) };
        SharedPages::of_call(&self.queue, handles, returned).await
    }
    /// Makes a context of pages that hold the keys and values of `tokens`.
    pub async fn from_pages(
        model: &Model,
        queue: &Queue,
        pages: &[i32],
        tokens: &[u32],
    ) -> Result<Context> {
        let call = unsafe {
            raw::context::from_pages(
                queue.handle(),
                pages.as_ptr(),
                host::count(pages),
                tokens.as_ptr(),
                host::count(tokens),
            )
        };
        let handle = HostFuture::new(call, to_handle).await?;
        let mut context = Context::with_handle(model, queue, handle);
        context.tokens = tokens.to_vec();
        Ok(context)
    }

    /// A second context with the same content, computed and queued; it shares all pages, and each goes on by
    /// itself. It costs the same however long the context is.
    ///
    /// What is queued is computed in each fork: [`prefill`](Context::prefill) it before.
    pub async fn fork(&self) -> Result<Context> {
        self.settle()?;
        let call = unsafe { raw::context::fork(self.handle()) };
        let handle = HostFuture::new(call, to_handle).await?;
        Ok(Context {
            tokens: self.tokens.clone(),
            unknown_token_count: self.unknown_token_count,
            turns: self.turns.clone(),
            beyond_context: self.beyond_context,
            hint: self.hint,
            ..Context::with_handle(&self.model, &self.queue, handle)
        })
    }

    /// Drops the last `count` tokens: those queued first, then computed ones within the working pages;
    /// `out-of-range` beyond them. The other tasks of the program stand still meanwhile.
    pub fn truncate(&mut self, count: u32) -> Result<Counters> {
        self.settle()?;
        let counters = self.edit(raw::context::truncate, count)?;
        self.forget_tokens(self.token_count() - count.min(self.token_count()), self.token_count());
        Ok(counters)
    }
    /// Goes back to `length` tokens, over committed pages too; what is queued after them goes.
    /// `out-of-range` when there are fewer.
    pub async fn rewind(&mut self, length: u32) -> Result<Counters> {
        self.settle()?;
        let call = unsafe { raw::context::rewind(self.handle(), length) };
        let counters = HostFuture::new(call, Counters::decode).await?;
        self.forget_tokens(length, self.token_count());
        Ok(counters)
    }
    /// Computed tokens [begin, end) are not seen by tokens to come; the others keep their positions, and pages
    /// that no one can see any more are freed. They stay in `tokens` and `seq_len`.
    pub async fn drop_range(&mut self, begin: u32, end: u32) -> Result<Counters> {
        self.settle()?;
        let call = unsafe { raw::context::drop_range(self.handle(), begin, end) };
        HostFuture::new(call, Counters::decode).await
    }
    /// Queues tokens [begin, end) of `source`, of the same model; queued ones count. Pages that exist for them
    /// here are found, the rest is computed.
    pub async fn splice(&mut self, source: &Context, begin: u32, end: u32) -> Result<Counters> {
        self.settle()?;
        let tokens = source.tokens_between(begin, end);
        let call = unsafe { raw::context::splice(self.handle(), source.handle(), begin, end) };
        let counters = HostFuture::new(call, Counters::decode).await?;
        if tokens.len() == (end - begin) as usize {
            self.tokens.extend(tokens);
        } else {
            // The source did not know them either.
            self.unknown_token_count = self.token_count() + (end - begin);
            self.tokens.clear();
        }
        Ok(counters)
    }

    /// The published operations on working pages, and their counts. Calls of it wait without the other tasks
    /// of the program.
    pub fn inner(&mut self) -> Inner<'_> {
        Inner::of(self)
    }

    /// Sets the program's hint for the time when the context's pages are no longer held; the latest
    /// hint counts.
    pub fn hint(&mut self, hint: ContextHint) -> Result<()> {
        let (kind, seconds) = match hint {
            ContextHint::Nothing => (0, 0),
            ContextHint::WillResume => (1, 0),
            ContextHint::Done => (2, 0),
            ContextHint::Keep(time) => (3, seconds_of(time)?),
            ContextHint::SharedPrefix => (4, 0),
        };
        checked_empty(unsafe { raw::context::hint(self.handle(), kind, seconds) })?;
        self.hint = (kind, seconds);
        Ok(())
    }
    /// Tokens appended from now on are computed under these adapters together, each with a factor of its
    /// own scale; none: under the model alone. What was appended before keeps its own, and forks and
    /// snapshots keep what is in force. `not-found`: [`Model::adapters`] has no such name.
    pub fn use_adapters(&mut self, adapters: &[(&str, f64)]) -> Result<()> {
        self.settle()?;
        let names = adapters.iter().map(|each| each.0).collect::<Vec<_>>().join("\n");
        let scales: Vec<f64> = adapters.iter().map(|each| each.1).collect();
        checked_empty(unsafe {
            raw::adapter::use_adapters(
                self.handle(),
                names.as_ptr(),
                names.len() as u32,
                scales.as_ptr(),
                scales.len() as u32,
            )
        })
    }
    /// Whether tokens to come may be further from their oldest visible token than the model's context length.
    pub fn allow_beyond_context(&mut self, allowed: bool) -> Result<()> {
        checked_empty(unsafe {
            raw::context::allow_beyond_context(self.handle(), u32::from(allowed))
        })?;
        self.beyond_context = allowed;
        Ok(())
    }
    /// Marks the end of the tokens that the context has, queued ones and turns included: the program will come
    /// back there. A model with the trait "states" keeps its state. With other models it has no effect.
    pub async fn mark(&mut self) -> Result<()> {
        self.queue_turns(false).await?;
        self.mark_end()
    }

    /// Lets the model go on.
    pub fn generate(&mut self, options: GenerateOptions) -> Generator<'_> {
        Generator::new(self, options)
    }
    /// `count` ways to go on, side by side: forks that share all that is here, each with what it generated.
    /// Seeds count up from that of the options.
    pub async fn sample(&mut self, count: u32, options: GenerateOptions) -> Result<Vec<Branch>> {
        self.prefill().await?;
        let mut branches = Vec::new();
        for number in 0..u64::from(count) {
            let mut context = self.fork().await?;
            let mut options = options.clone();
            options.seed = options.seed.wrapping_add(number);
            branches.push(async move {
                let answer = context.generate(options).collect().await?;
                Ok(Branch { context, answer })
            });
        }
        gather(branches).await
    }

    /// Tokens whose keys and values were written, dropped ones included, queued ones not.
    /// [`token_count`](Context::token_count) counts the queued ones too.
    pub fn seq_len(&self) -> u32 {
        self.counter(raw::context::seq_len)
    }
    /// Tokens of a page.
    pub fn page_size(&self) -> u32 {
        self.counter(raw::context::page_size)
    }
    /// Tokens that were found in the cache instead of computed.
    pub fn found_token_count(&self) -> u32 {
        self.counter(raw::context::found_token_count)
    }
    /// The tokens that the program knows: all of them, unless it opened a snapshot.
    pub fn tokens(&self) -> &[u32] {
        &self.tokens
    }
    /// All of them, queued and dropped ones too.
    pub fn token_count(&self) -> u32 {
        self.unknown_token_count + self.tokens.len() as u32
    }
    /// The context's model.
    pub fn model(&self) -> &Model {
        &self.model
    }
    /// The context's queue.
    pub fn queue(&self) -> &Queue {
        &self.queue
    }
    /// For calls of [`raw`]; what they change, this context does not know.
    pub fn handle(&self) -> i32 {
        self.handle.get()
    }

    // ---- What the host has.

    /// A counter of the host; one of a context that is there cannot fail.
    fn counter(&self, call: unsafe extern "C" fn(i32) -> i32) -> u32 {
        host::checked(unsafe { call(self.handle()) }).unwrap_or_else(|error| panic!("{error}"))
    }
    fn edit(&self, call: unsafe extern "C" fn(i32, u32) -> i32, count: u32) -> Result<Counters> {
        HostFuture::new(unsafe { call(self.handle(), count) }, Counters::decode).wait()
    }

    fn send_tokens(&self, tokens: &[u32]) -> Result<()> {
        checked_empty(unsafe {
            raw::context::append(self.handle(), tokens.as_ptr(), host::count(tokens))
        })
    }

    /// A token was drawn and queued by the host.
    pub(crate) fn note_drawn(&mut self, token: u32) {
        self.tokens.push(token);
        self.known_count.set(self.known_count.get().map(|known| known + 1));
    }
    /// From now on the host may have more tokens than the program knows.
    pub(crate) fn begin_loop(&mut self) {
        self.known_count.set(Some(self.token_count()));
    }
    /// The host has exactly the tokens that the program knows.
    pub(crate) fn end_loop(&mut self) {
        if self.known_count.get() == Some(self.token_count()) {
            self.known_count.set(None);
        }
    }
    /// The host has what the program knows of, and no more.
    pub(crate) fn settle(&self) -> Result<()> {
        let Some(known) = self.known_count.get() else { return Ok(()) };
        self.edit(raw::context::rewind, known)?;
        self.known_count.set(None);
        let unsent = &self.tokens[(known - self.unknown_token_count) as usize..];
        unsent.chunks(APPEND_COUNT_MAX).try_for_each(|part| self.send_tokens(part))
    }
    pub(crate) fn unknown_token_count(&self) -> u32 {
        self.unknown_token_count
    }
    /// The known ones of the tokens [begin, end).
    fn tokens_between(&self, begin: u32, end: u32) -> Vec<u32> {
        let last = end.min(self.token_count());
        let first = begin.max(self.unknown_token_count);
        if first >= last {
            return Vec::new();
        }
        self.tokens[(first - self.unknown_token_count) as usize
            ..(last - self.unknown_token_count) as usize]
            .to_vec()
    }
    /// The context holds tokens [begin, end) no more; those after them moved up.
    fn forget_tokens(&mut self, begin: u32, end: u32) {
        if begin >= end {
            return;
        }
        self.turns.is_cut |= self.turns.rendered_count > 0 && end > self.turns.first;
        let unknown = self.unknown_token_count;
        self.tokens
            .drain((begin.max(unknown) - unknown) as usize..(end.max(unknown) - unknown) as usize);
        self.unknown_token_count -= end.min(unknown) - begin.min(unknown);
    }
}

fn seconds_of(time: Duration) -> Result<u32> {
    u32::try_from(time.as_secs()).map_err(|_| {
        Error::invalid(format!("{} seconds: not from 0 to 4294967295", time.as_secs()))
    })
}
