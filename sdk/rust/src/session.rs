//! The client of a program.
use crate::future::{nothing, to_bytes, to_text};
use crate::host::{self, checked_empty, Handle, Record};
use crate::raw;
use crate::stream::Values;
use crate::{ErrorCode, HostFuture, Result};

const PART_BYTES_MAX: usize = 1 << 20;

/// One message to the client. `quota-exceeded`: it has not taken enough of the earlier ones.
pub fn send(message: &str) -> Result<()> {
    checked_empty(unsafe { raw::session::send(message.as_ptr(), host::count(message.as_bytes())) })
}
/// One message of the client. The error `unavailable`: it has ended its side.
pub fn receive() -> HostFuture<String> {
    HostFuture::new(unsafe { raw::session::receive() }, to_text)
}

/// The messages of the client, until it ends its side.
pub fn messages() -> Values<'static, Result<String>> {
    Values::of_steps((), |()| async {
        match receive().await {
            Err(error) if error.code == ErrorCode::Unavailable => ((), Ok(None)),
            other => ((), other.map(Some)),
        }
    })
}

/// Sends a text to the client: `quire::print!("{} tokens", count)?`. The arguments are those of `format!`, and the result
/// is that of [`session::send`](crate::session::send). The macros of the standard library of that name write to the log.
#[macro_export]
macro_rules! print {
    ($($argument:tt)*) => {
        $crate::session::send(&::std::format!($($argument)*))
    };
}
/// The same as [`print!`](crate::print), with the end of a line.
#[macro_export]
macro_rules! println {
    () => {
        $crate::session::send("\n")
    };
    ($($argument:tt)*) => {
        $crate::session::send(&(::std::format!($($argument)*) + "\n"))
    };
}

/// Sends a file, waiting for the client where it takes its time.
pub async fn send_file(name: &str, media_type: &str, bytes: &[u8]) -> Result<()> {
    let handle = Handle::of_call(unsafe {
        raw::session::send_file(
            name.as_ptr(),
            host::count(name.as_bytes()),
            media_type.as_ptr(),
            host::count(media_type.as_bytes()),
            bytes.len() as u64,
        )
    })?;
    for part in bytes.chunks(PART_BYTES_MAX) {
        let call =
            unsafe { raw::session::write_file(handle.get(), part.as_ptr(), host::count(part)) };
        HostFuture::new(call, nothing).await?;
    }
    Ok(())
}

/// A file that the client sends.
#[derive(Debug)]
pub struct IncomingFile {
    handle: Handle,
    /// The name.
    pub name: String,
    /// As "image/png".
    pub media_type: String,
    /// How many it has.
    pub file_bytes: u64,
}

/// The next file of the client. The error `unavailable`: it has ended its side, or is gone.
pub fn receive_file() -> HostFuture<IncomingFile> {
    HostFuture::new(unsafe { raw::session::receive_file() }, |bytes| {
        let mut record = Record::new(bytes, "a file");
        let handle = Handle::new(record.u32()? as i32);
        let (name_bytes, media_type_bytes, _) = (record.u32()?, record.u32()?, record.u32()?);
        let file_bytes = record.u64()?;
        let name = record.text(name_bytes)?;
        let media_type = record.text(media_type_bytes)?;
        record.end(IncomingFile { handle, name, media_type, file_bytes })
    })
}

impl IncomingFile {
    /// The next part; nothing at the end.
    pub fn read(&self) -> HostFuture<Vec<u8>> {
        HostFuture::new(unsafe { raw::session::read_file(self.handle.get()) }, to_bytes)
    }
    /// All that was not read yet.
    pub async fn read_all(&self) -> Result<Vec<u8>> {
        let mut all = Vec::new();
        loop {
            let part = self.read().await?;
            if part.is_empty() {
                return Ok(all);
            }
            all.extend(part);
        }
    }
}
