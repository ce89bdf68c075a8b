//! Contexts that are kept past the end of the program.
use super::{seconds_of, Context};
use crate::chat::{ConversationNote, NOTE_BYTES_MAX};
use crate::future::nothing;
use crate::host::{self, bytes_from, Handle, Record};
use crate::{raw, runtime, Error, ErrorCode, HostFuture, Model, Priority, Queue, Result};
use std::time::Duration;

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

impl Context {
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
