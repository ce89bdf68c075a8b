//! Context: a text that the model has read, or is to read.
use crate::chat::{ConversationNote, Turns, NOTE_BYTES_MAX};
use crate::draw::{no_token_left, Drawer, DrawnToken, Draws};
use crate::future::{nothing, to_handle};
use crate::generate::{GenerateOptions, Generation, Generator};
use crate::host::{self, bytes_from, checked_empty, Handle, Record};
use crate::low::{Embeds, SharedPages};
use crate::model::TokenizeOptions;
use crate::raw;
use crate::{
    gather, runtime, ChatMessage, Error, ErrorCode, HostFuture, Model, Priority, Queue, Result,
    TokenProbability,
};
use std::cell::RefCell;
use std::time::Duration;

const APPEND_COUNT_MAX: usize = 262_144; // Of one call.

/// A context after a call that computed or edited it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Tokens whose keys and values were written, dropped ones included.
    pub seq_len: u32,
    /// Full pages that the context holds and that are named by their content.
    pub committed_page_count: u32,
    /// Pages that only this context writes.
    pub working_page_count: u32,
    /// Tokens written to working pages.
    pub working_page_token_count: u32,
    /// Tokens that were found in the cache, never computed.
    pub found_token_count: u32,
}

impl Counters {
    pub(crate) fn decode(bytes: &[u8]) -> Result<Counters> {
        let mut record = Record::new(bytes, "counters");
        let counters = Counters {
            seq_len: record.u32()?,
            committed_page_count: record.u32()?,
            working_page_count: record.u32()?,
            working_page_token_count: record.u32()?,
            found_token_count: record.u32()?,
        };
        record.end(counters)
    }
}

/// The most probable next tokens, falling.
#[derive(Clone, Debug, Default)]
pub struct Distribution {
    /// Each with its share of the full softmax.
    pub tokens: Vec<TokenProbability>,
}

impl Distribution {
    pub(crate) fn decode(bytes: &[u8]) -> Result<Distribution> {
        let mut record = Record::new(bytes, "a distribution");
        let distribution = Distribution::read(&mut record)?;
        record.end(distribution)
    }
    /// Several, one after the other.
    pub(crate) fn decode_all(bytes: &[u8]) -> Result<Vec<Distribution>> {
        let mut record = Record::new(bytes, "distributions");
        let mut all = Vec::new();
        while !record.is_at_end() {
            all.push(Distribution::read(&mut record)?);
        }
        Ok(all)
    }
    fn read(record: &mut Record<'_>) -> Result<Distribution> {
        let count = record.u32()? as usize;
        let ids = host::u32s(record.bytes(count * 4)?);
        let shares = host::u32s(record.bytes(count * 4)?);
        let of = |(token, bits)| TokenProbability { token, probability: f32::from_bits(bits) };
        Ok(Distribution { tokens: ids.into_iter().zip(shares).map(of).collect() })
    }
}

/// A computed pass of a context, with its outputs.
#[derive(Debug)]
pub struct Pass {
    /// One output for each of the last `count` tokens, in order.
    pub embeds: Embeds,
    /// The counters of the context after the pass.
    pub counters: Counters,
}

/// Numbers of a result: logits, log-probabilities.
pub(crate) fn to_numbers(bytes: &[u8]) -> Result<Vec<f32>> {
    let mut record = Record::new(bytes, "numbers");
    let format = record.u32()?;
    let count = record.u32()? as usize;
    if format != 0 {
        return Err(record.broken());
    }
    let numbers = host::u32s(record.bytes(count * 4)?).into_iter().map(f32::from_bits).collect();
    record.end(numbers)
}

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

/// How a context is saved.
#[derive(Clone, Copy, Debug)]
pub struct SaveOptions {
    /// A snapshot of that name goes; else it is `already-exists`.
    pub overwrite: bool,
    /// For how long, in whole seconds; zero: forever.
    pub time_to_live: Duration,
    /// False: what is queued is saved as tokens alone.
    pub compute: bool,
    /// False: a conversation's turns are left out.
    pub turns: bool,
}

impl Default for SaveOptions {
    fn default() -> Self {
        SaveOptions { overwrite: false, time_to_live: Duration::ZERO, compute: true, turns: true }
    }
}

/// A saved context.
#[derive(Clone, Debug)]
pub struct SnapshotInfo {
    /// The name.
    pub name: String,
    /// Milliseconds since 1970.
    pub created_unix_ms: u64,
    /// 0: never.
    pub expires_unix_ms: u64,
    /// How many it holds.
    pub token_count: u64,
    /// On disk, if nothing shared its pages.
    pub bytes: u64,
}

/// The snapshots of a tenant.
#[derive(Clone, Debug)]
pub struct SnapshotList {
    /// Each of them.
    pub snapshots: Vec<SnapshotInfo>,
    /// On disk, all together.
    pub bytes: u64,
}

impl SnapshotList {
    fn decode(bytes: &[u8]) -> Result<SnapshotList> {
        let mut record = Record::new(bytes, "a list of snapshots");
        let count = record.u32()?;
        record.u32()?;
        let mut list = SnapshotList { snapshots: Vec::new(), bytes: record.u64()? };
        for _ in 0..count {
            let (created_unix_ms, expires_unix_ms) = (record.u64()?, record.u64()?);
            let (token_count, bytes) = (record.u64()?, record.u64()?);
            let name_bytes = record.u32()?;
            let name = record.text(name_bytes)?;
            list.snapshots.push(SnapshotInfo {
                name,
                created_unix_ms,
                expires_unix_ms,
                token_count,
                bytes,
            });
        }
        record.end(list)
    }
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
    known_count: Option<u32>,
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
            known_count: None,
            beyond_context: false,
            hint: (0, 0),
        }
    }

    /// Queues tokens after what is there.
    pub fn append(&mut self, tokens: &[u32]) -> Result<()> {
        if self.known_count.is_some() {
            self.tokens.extend_from_slice(tokens); // settle() sends them.
            return Ok(());
        }
        for part in tokens.chunks(APPEND_COUNT_MAX) {
            checked_empty(unsafe {
                raw::context::append(self.handle(), part.as_ptr(), host::count(part))
            })?;
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
    /// The turn that the model wrote last, in the parts that its template knows: a call of a tool is a member of
    /// it. The tokens stay as the model wrote them, unless `rewrites`: then the next turn begins the context anew.
    pub fn amend_answer(&mut self, message: ChatMessage, rewrites: bool) {
        if let Some(last) = self.turns.messages.last_mut() {
            *last = message;
            self.turns.is_cut |= rewrites;
        }
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
                1,
            )
        };
        let step = HostFuture::new(call, Draws::decode);
        self.begin_loop(); // The tokens are queued even if the program does not wait for the result.
        let draws = step.await?;
        for each in &draws.tokens {
            self.note_drawn(each.token.token);
        }
        self.end_loop();
        drawer.note(&draws);
        Ok(draws)
    }

    /// The pages that hold the context's tokens, for [`low`](crate::low). They are read-only, and the context stays usable.
    pub async fn pages(&mut self) -> Result<SharedPages> {
        self.settle()?;
        let now = self.edit(raw::context::truncate, 0)?;
        let size = self.page_size();
        let count = now.committed_page_count + (now.working_page_token_count + size - 1) / size;
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
    pub async fn fork(&mut self) -> Result<Context> {
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
        Inner { context: RefCell::new(self) }
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

    /// Computes what is queued and keeps the context under `name`, past the end of the program and of the server;
    /// ready when it is on disk. A conversation is saved with its turns.
    pub async fn save(&mut self, name: &str, options: SaveOptions) -> Result<()> {
        self.queue_turns(false).await?;
        if options.compute {
            match self.begin_flush().await {
                // A context that is full holds a token that does not fit: it is saved as a token.
                Err(error) if error.code != ErrorCode::OutOfRange => return Err(error),
                _ => {}
            }
        }
        let seconds = seconds_of(options.time_to_live)?;
        let note = if options.turns { self.conversation_note()? } else { Vec::new() };
        let call = unsafe {
            let (name, note) = (name.as_bytes(), note.as_slice());
            let flags = u32::from(options.overwrite);
            raw::context::save_with_note(
                self.handle(),
                name.as_ptr(),
                host::count(name),
                flags,
                seconds,
                note.as_ptr(),
                host::count(note),
            )
        };
        HostFuture::new(call, nothing).await
    }
    /// A new context with what was saved; the snapshot stays. If turns were saved, [`messages`](Context::messages)
    /// are what they were. `not-found`; `not-supported` with the reason when it is of another model or format;
    /// `corrupted`.
    pub async fn open(model: &Model, name: &str) -> Result<Context> {
        Context::opened(raw::context::open, model, name).await
    }
    /// As open, and the snapshot goes as soon as the program has the context. `unavailable` where another
    /// program takes it.
    pub async fn take(model: &Model, name: &str) -> Result<Context> {
        Context::opened(raw::context::take, model, name).await
    }
    /// open, or an empty context if no snapshot has that name.
    pub async fn open_or_create(model: &Model, name: &str) -> Result<Context> {
        match Context::open(model, name).await {
            Err(error) if error.code == ErrorCode::NotFound => Context::of(model),
            other => other,
        }
    }
    /// Deletes a snapshot; contexts that were opened from it stay. `not-found` where there is none.
    pub fn delete(name: &str) -> HostFuture<()> {
        HostFuture::new(
            unsafe { raw::context::delete(name.as_ptr(), host::count(name.as_bytes())) },
            nothing,
        )
    }
    /// The snapshots of this program's tenant.
    pub fn list() -> HostFuture<SnapshotList> {
        HostFuture::new(unsafe { raw::context::list() }, SnapshotList::decode)
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

    /// A token was drawn and queued by the host.
    pub(crate) fn note_drawn(&mut self, token: u32) {
        self.tokens.push(token);
        if let Some(known) = &mut self.known_count {
            *known += 1;
        }
    }
    /// From now on the host may have more tokens than the program knows.
    pub(crate) fn begin_loop(&mut self) {
        self.known_count = Some(self.token_count());
    }
    /// The host has exactly the tokens that the program knows.
    pub(crate) fn end_loop(&mut self) {
        if self.known_count == Some(self.token_count()) {
            self.known_count = None;
        }
    }
    /// The host has what the program knows of, and no more.
    pub(crate) fn settle(&mut self) -> Result<()> {
        let Some(known) = self.known_count else { return Ok(()) };
        self.edit(raw::context::rewind, known)?;
        self.known_count = None;
        let unsent = self.tokens.split_off((known - self.unknown_token_count) as usize);
        self.append(&unsent)
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

    // ---- Turns.

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
            self.begin_anew(&whole).await?;
        } else {
            self.append(&whole[known..])?;
        }
        self.turns.rendered_count = self.turns.messages.len();
        self.turns.end = self.token_count();
        self.turns.answer_open = answer_next;
        self.turns.is_cut = false;
        Ok(())
    }
    /// Whether the context ends with a turn that is to be answered, without the beginning of an
    /// answer.
    fn awaits_answer(&self) -> bool {
        let last = self.turns.messages.last();
        last.is_some_and(|each| each.role != "assistant")
            && !self.turns.answer_open
            && self.token_count() == self.turns.end
    }
    /// How many tokens of `whole` the context holds already, given that it holds the turns `before`; 0 when that
    /// cannot be said. An answer is in the context as it was drawn, which need not be how the tokenizer would
    /// write it; what follows it can only be aligned at the token that ends a turn.
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
    /// The tokens before the conversation, and the whole conversation: in a new context, which finds the pages
    /// that exist; where those tokens are not known, in this one.
    async fn begin_anew(&mut self, conversation: &[u32]) -> Result<()> {
        if self.unknown_token_count > 0 {
            self.rewind(self.turns.first.min(self.token_count())).await?;
            return self.append(conversation);
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
        self.append(&before)?;
        self.append(conversation)
    }
    /// The model's answer is in the context already: it is a turn of the conversation.
    pub(crate) fn note_answer(&mut self, content: &str) {
        if !self.turns.messages.is_empty() {
            self.assistant(content);
            self.turns.rendered_count = self.turns.messages.len();
            self.turns.answer_open = false;
        }
    }

    // ---- Snapshots.

    fn conversation_note(&self) -> Result<Vec<u8>> {
        if self.turns.messages.is_empty() && self.turns.tools.is_empty() {
            return Ok(Vec::new());
        }
        let note = ConversationNote {
            turns: self.turns.clone(),
            unknown_token_count: self.unknown_token_count,
            beyond_context: self.beyond_context,
            hint: self.hint.0,
            hint_seconds: self.hint.1,
            tokens: self.tokens.clone(),
        }
        .written();
        if note.len() <= NOTE_BYTES_MAX {
            return Ok(note);
        }
        Err(Error::new(
            ErrorCode::TooLarge,
            format!(
                "the turns of the conversation and its tokens take {} bytes; a snapshot holds {NOTE_BYTES_MAX}: \
                 save with turns: false, and open has no messages()",
                note.len()
            ),
        ))
    }

    async fn opened(
        call: unsafe extern "C" fn(i32, *const u8, u32) -> i32,
        model: &Model,
        name: &str,
    ) -> Result<Context> {
        let queue = Queue::create(model, Priority::Normal)?;
        let opening = unsafe { call(queue.handle(), name.as_ptr(), host::count(name.as_bytes())) };
        let (handle, queued) = HostFuture::new(opening, |bytes| {
            let mut record = Record::new(bytes, "an opened snapshot");
            let handle = Handle::new(record.u32()? as i32);
            let queued = record.u32()?;
            record.end((handle, queued))
        })
        .await?;
        let mut context = Context::with_handle(model, &queue, handle);
        context.unknown_token_count = context.seq_len() + queued;
        let note = bytes_from(|buffer, capacity| unsafe {
            raw::context::note_of(context.handle(), buffer, capacity)
        })?;
        context.restore_conversation(name, &note);
        Ok(context)
    }

    /// Restores the turns. If the note cannot be read, the tokens are not known, and the next turn
    /// begins another conversation.
    fn restore_conversation(&mut self, name: &str, note: &[u8]) {
        const HINT_MAX: u32 = 4;
        let fits = |note: &ConversationNote| {
            u64::from(note.unknown_token_count) + note.tokens.len() as u64
                <= u64::from(self.unknown_token_count)
                && note.hint <= HINT_MAX
        };
        match ConversationNote::read(note) {
            Ok(None) => {}
            Ok(Some(note)) if fits(&note) => {
                // A loop of the host had drawn more than its program knew when it saved.
                let held =
                    std::mem::replace(&mut self.unknown_token_count, note.unknown_token_count);
                self.tokens = note.tokens;
                self.turns = note.turns;
                self.beyond_context = note.beyond_context;
                self.hint = (note.hint, note.hint_seconds);
                if self.token_count() < held {
                    self.begin_loop();
                }
            }
            _ => runtime::log(
                runtime::LogLevel::Warning,
                &format!("the turns of the snapshot \"{name}\" cannot be read, and are left out"),
            ),
        }
    }
}

fn seconds_of(time: Duration) -> Result<u32> {
    u32::try_from(time.as_secs()).map_err(|_| {
        Error::invalid(format!("{} seconds: not from 0 to 4294967295", time.as_secs()))
    })
}

/// The published operations on working pages, for loops that are written by hand: flush and generate do all of
/// it. Counters are those of the context's last command that was answered without an error.
pub struct Inner<'a> {
    context: RefCell<&'a mut Context>,
}

impl Inner<'_> {
    /// Full pages that the context holds and that are named by their content.
    pub fn committed_page_count(&self) -> u32 {
        self.context.borrow().counter(raw::context::committed_page_count)
    }
    /// Pages that only this context writes, reserved ones too.
    pub fn working_page_count(&self) -> u32 {
        self.context.borrow().counter(raw::context::working_page_count)
    }
    /// Tokens written to working pages.
    pub fn working_page_token_count(&self) -> u32 {
        self.context.borrow().counter(raw::context::working_page_token_count)
    }
    /// Allocates `count` more working pages, all or none. `no-free-page`, `quota-exceeded`.
    pub fn reserve_working_pages(&self, count: u32) -> Result<Counters> {
        let mut context = self.context.borrow_mut();
        context.settle()?;
        context.edit(raw::context::reserve_working_pages, count)
    }
    /// Commits the first `count` working pages. `page-not-full` when one of them has a slot that was not written.
    pub fn commit_working_pages(&self, count: u32) -> Result<Counters> {
        let mut context = self.context.borrow_mut();
        context.settle()?;
        context.edit(raw::context::commit_working_pages, count)
    }
    /// Frees the last `count` with the tokens written to them; what is queued moves up. `out-of-range` when there
    /// are fewer.
    pub fn release_working_pages(&self, count: u32) -> Result<Counters> {
        self.forget_written(raw::context::release_working_pages, count)
    }
    /// Drops the last `count` tokens written to working pages; the pages stay, what is queued moves up.
    pub fn truncate_working_page_tokens(&self, count: u32) -> Result<Counters> {
        self.forget_written(raw::context::truncate_working_page_tokens, count)
    }
    fn forget_written(
        &self,
        call: unsafe extern "C" fn(i32, u32) -> i32,
        count: u32,
    ) -> Result<Counters> {
        let mut context = self.context.borrow_mut();
        context.settle()?;
        // The tokens that are written now: a step that was dropped may have gone on unseen.
        let before = context.edit(raw::context::truncate, 0)?;
        let after = context.edit(call, count)?;
        context.forget_tokens(after.seq_len, before.seq_len);
        Ok(after)
    }
}
