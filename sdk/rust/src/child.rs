//! Other instances that this program launched.
use crate::future::to_text;
use crate::host::{self, checked_empty, Handle, Record};
use crate::raw;
use crate::{ErrorCode, HostFuture, Result, Shown};

/// How a child ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum ChildEndKind {
    Finished,
    Trapped,
    LimitExceeded,
    Killed,
    NotStarted,
}

/// The end of a child.
#[derive(Clone, Debug)]
pub struct ChildEnd {
    /// How.
    pub kind: ChildEndKind,
    /// The exit code of a child that finished.
    pub exit_code: i32,
    /// The result that it set last (`runtime::set_result`).
    pub result: String,
    /// Why it ended, where it did not finish.
    pub message: String,
}

/// The program to launch, and its share.
#[derive(Clone, Debug, Default)]
pub struct ChildOptions {
    /// A name that the server has; empty: this program.
    pub program: String,
    /// The words of its command line.
    pub arguments: Vec<String>,
    /// 1 to 100 percent of what this program has left, for this child alone; 0: it draws on all that this program
    /// and its other children do not use.
    pub share_percent: u32,
}

/// Another instance, of this program or one that the server has. It draws on what this program has left, with all
/// other children, or has a share of it. It ends with this program, or when this goes.
#[derive(Debug)]
pub struct Child {
    handle: Handle,
}

impl Child {
    /// `quota-exceeded` names the limit and the flag that raises it; `unavailable`: the server is full.
    pub fn launch(options: &ChildOptions) -> Result<Child> {
        let mut arguments = Vec::new();
        for each in &options.arguments {
            arguments.extend(host::count(each.as_bytes()).to_le_bytes());
            arguments.extend(each.as_bytes());
        }
        let handle = Handle::of_call(unsafe {
            raw::runtime::launch(
                options.program.as_ptr(),
                host::count(options.program.as_bytes()),
                arguments.as_ptr(),
                host::count(&arguments),
                options.share_percent,
            )
        })?;
        Ok(Child { handle })
    }
    /// A message for the child's `session::receive`.
    pub fn send(&self, message: &str) -> Result<()> {
        checked_empty(unsafe {
            raw::runtime::send_child(
                self.handle.get(),
                message.as_ptr(),
                host::count(message.as_bytes()),
            )
        })
    }
    /// The next message that the child sent. `unavailable`: it has ended, and all was received.
    pub fn receive(&self) -> HostFuture<String> {
        HostFuture::new(unsafe { raw::runtime::receive_child(self.handle.get()) }, to_text)
    }
    /// Gives each message of the child to `show`, until it has ended and all was received.
    pub async fn forward<S: Shown>(&self, mut show: impl FnMut(&str) -> S) -> Result<()> {
        loop {
            match self.receive().await {
                Ok(message) => show(&message).shown()?,
                Err(error) if error.code == ErrorCode::Unavailable => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }
    /// Ready when it has ended.
    pub fn wait(&self) -> HostFuture<ChildEnd> {
        HostFuture::new(unsafe { raw::runtime::wait_child(self.handle.get()) }, |bytes| {
            const KINDS: [ChildEndKind; 5] = [
                ChildEndKind::Finished,
                ChildEndKind::Trapped,
                ChildEndKind::LimitExceeded,
                ChildEndKind::Killed,
                ChildEndKind::NotStarted,
            ];
            let mut record = Record::new(bytes, "the end of a child");
            let kind = record.u32()? as usize;
            let kind = *KINDS.get(kind).ok_or_else(|| record.broken())?;
            let exit_code = record.u32()? as i32;
            let (result_bytes, message_bytes) = (record.u32()?, record.u32()?);
            let result = record.text(result_bytes)?;
            let message = record.text(message_bytes)?;
            record.end(ChildEnd { kind, exit_code, result, message })
        })
    }
    /// Nothing happens where it has ended.
    pub fn kill(&self) -> Result<()> {
        checked_empty(unsafe { raw::runtime::kill_child(self.handle.get()) })
    }
}
