//! An event stream whose client never waits in silence.
use crate::serve::EventStream;
use crate::{runtime, sleep, spawn, Mutex, Result, Task};
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

/// The interval of pings that clients and proxies expect.
pub const PING_INTERVAL: Duration = Duration::from_secs(5);

/// A response of type text/event-stream that has the comment `: ping` in each interval without an event, whatever the
/// program waits for in the meantime. Clients pass over it. It never falls within an event, and while an earlier
/// write waits for the client, none is added. The timer ends with this object.
///
/// ```no_run
/// # use quire::serve::{Request, Response, PING_INTERVAL};
/// # use quire::{Context, GenerateOptions, Result};
/// #[quire::endpoint]
/// async fn think(_request: Request, response: Response) -> Result<()> {
///     let events = response.events()?.keep_alive(PING_INTERVAL);
///     let mut context = Context::create()?;
///     context.append_text("Once upon a time").await?;
///     let answer = context.generate(GenerateOptions::max_tokens(900)).await?;
///     events.send(&answer.text).await?;
///     events.finish().await
/// }
/// ```
pub struct LiveEvents {
    live: Rc<Live>,
    timer: Task<Result<()>>,
}

#[derive(Debug)]
struct Live {
    stream: Mutex<EventStream>, // One task at a time writes.
    written: Cell<Duration>,
}

impl Live {
    async fn keep(self: Rc<Self>, interval: Duration) -> Result<()> {
        loop {
            let rest = (self.written.get() + interval).saturating_sub(runtime::now());
            if !rest.is_zero() {
                sleep(rest).await?;
                continue;
            }
            let stream = self.stream.lock().await;
            // An event may have waited for the client until now.
            if runtime::now() >= self.written.get() + interval {
                self.written.set(runtime::now());
                stream.comment("ping").await?;
            }
        }
    }
}

impl LiveEvents {
    pub(crate) fn new(stream: EventStream, interval: Duration) -> LiveEvents {
        let written = Cell::new(runtime::now());
        let live = Rc::new(Live { stream: Mutex::new(stream), written });
        LiveEvents { timer: spawn(live.clone().keep(interval)), live }
    }
    /// One event, whose data may have several lines. Ready once there is room for another.
    pub async fn send(&self, data: &str) -> Result<()> {
        self.send_named("", data).await
    }
    /// One of that name; empty: the client takes it for "message".
    pub async fn send_named(&self, name: &str, data: &str) -> Result<()> {
        let stream = self.live.stream.lock().await;
        let sent = stream.send_named(name, data).await;
        self.live.written.set(runtime::now());
        sent
    }
    /// Ends the response.
    pub async fn finish(self) -> Result<()> {
        drop(self.timer);
        self.live.stream.lock().await.finish()
    }
}
