//! Programs that run next to a language model, in a Quire server.
//!
//! ```no_run
//! use quire::{session, Context, GenerateOptions, Options, Result};
//!
//! #[derive(Options)]
//! struct Program {
//!     /// The text to continue
//!     #[option(words, default = "The capital of France is")]
//!     prompt: String,
//!     generate: GenerateOptions,
//! }
//!
//! #[quire::main]
//! async fn program(options: Program) -> Result<()> {
//!     let mut context = Context::create()?;
//!     context.append_text(&options.prompt).await?;
//!     context.generate(options.generate).stream(session::send).await?;
//!     Ok(())
//! }
//! ```
//!
//! A program has one thread. Everything that takes time is a future. [`gather`] runs several of
//! them side by side, and [`spawn`] lets one run alongside the rest. While none can go on, the
//! program waits in the server, where it costs nothing. A call that fails gives an [`Error`] with a
//! code and a message. An error that the program returns is logged, and its number is the program's
//! exit code. A panic ends the program with its message and the line of the source.
//!
//! Tokens are drawn by the host. A program reads the distribution with
//! [`Context::next_distribution`] and [`Context::next_logits`]. Every call of the server is in
//! [`raw`].
#![warn(missing_docs)]

// The macros name the crate by its name, here too.
extern crate self as quire;

mod chat;
mod child;
mod choose;
mod context;
mod drafts;
mod draw;
mod error;
mod executor;
mod future;
mod generate;
mod grammar;
mod hook;
mod host;
pub mod http;
mod json;
mod live;
pub mod low;
mod matcher;
pub mod messaging;
mod model;
mod mutex;
mod options;
mod program;
#[allow(missing_docs)]
#[rustfmt::skip]
pub mod raw;
pub mod runtime;
mod sampling;
pub mod serve;
pub mod session;
mod side_by_side;
mod stop;
pub mod store;
mod stream;
mod tools;

pub use chat::ChatMessage;
pub use child::{Child, ChildEnd, ChildEndKind, ChildOptions};
pub use choose::{Choice, Score};
pub use context::{
    Branch, Context, ContextHint, Counters, Distribution, Inner, Pass, SaveOptions, SnapshotInfo,
    SnapshotList,
};
pub use drafts::{drafts_from, PromptDrafts};
pub use draw::{DrawEnd, DrawRule, Drawer, DrawnToken, Draws, LogitBias, TokenProbability};
pub use error::{Error, Result};
pub use executor::{block_on, spawn, Task};
pub use future::{sleep, with_timeout, HostFuture};
pub use generate::{FinishReason, GenerateOptions, Generation, Generator, Piece, Shown};
pub use grammar::Grammar;
pub use hook::{HookSet, Hooks, NoHooks};
pub use json::Json;
pub use matcher::Matcher;
pub use model::{Model, ModelInfo, Priority, Queue, TokenizeOptions};
pub use mutex::{Mutex, MutexGuard};
#[doc(hidden)]
pub use options::texts_of;
pub use options::{OptionNumber, OptionReader, OptionValue, Options};
pub use program::{entry, Prompt};
pub use quire_macros::{endpoint, main, Options};
pub use raw::ErrorCode;
pub use side_by_side::{first_ok, gather, race, when_all, when_any, Either, Gather};
pub use stream::{Stream, Values};
pub use tools::{Tool, ToolAnswer, ToolCall, ToolOptions, ToolRun, Tools};
