//! The C boundary: borrowed bytes in, owned buffers and a status out.

use std::panic::{catch_unwind, AssertUnwindSafe};

/// Why a call failed; the numbers are those of `quire_status` in the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Status {
    Ok = 0,
    Invalid = 1,
    NotSupported = 2,
    Internal = 3,
    /// The input is larger than it may be; the text says what and how much.
    Limit = 4,
    /// The work takes longer, or more steps, than it may.
    Timeout = 5,
    /// The system has none left of what the call needs.
    Unavailable = 6,
}

/// A failed call: its status and a sentence for a person.
#[derive(Debug)]
pub struct Failure {
    pub status: Status,
    pub message: String,
}

impl Failure {
    pub fn new(status: Status, message: impl Into<String>) -> Self {
        Failure { status, message: message.into() }
    }
    pub fn invalid(message: impl Into<String>) -> Self {
        Failure::new(Status::Invalid, message)
    }
    /// The system has no thread left.
    pub fn no_thread(purpose: &str, error: std::io::Error) -> Self {
        let message = format!("a thread for {purpose} cannot be started: {error}");
        Failure::new(Status::Unavailable, message)
    }
}

pub type Outcome<T> = Result<T, Failure>;

/// Bytes that the caller owns, borrowed for the length of a call. `data` may be null when empty.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Bytes {
    data: *const u8,
    count: usize,
}

impl Bytes {
    /// # Safety
    /// `data` points to `count` readable bytes that live as long as the borrow.
    pub unsafe fn as_slice<'a>(self) -> &'a [u8] {
        if self.count == 0 {
            &[]
        } else {
            std::slice::from_raw_parts(self.data, self.count)
        }
    }

    /// # Safety
    /// As `as_slice`.
    pub unsafe fn as_str<'a>(self, what: &str) -> Outcome<&'a str> {
        std::str::from_utf8(self.as_slice()).map_err(|error| {
            Failure::invalid(format!("{what} is not UTF-8 at byte {}", error.valid_up_to()))
        })
    }

    pub fn borrow(bytes: &[u8]) -> Self {
        Bytes { data: bytes.as_ptr(), count: bytes.len() }
    }
}

/// A buffer that belongs to the caller until given to the matching `_delete`.
#[repr(C)]
pub struct Buffer<T> {
    data: *mut T,
    count: usize,
}

impl<T> Buffer<T> {
    pub fn from_vec(items: Vec<T>) -> Self {
        if items.is_empty() {
            return Buffer { data: std::ptr::null_mut(), count: 0 };
        }
        let items = items.into_boxed_slice();
        let count = items.len();
        Buffer { data: Box::into_raw(items) as *mut T, count }
    }

    /// # Safety
    /// The buffer came from `from_vec` and is not used again.
    unsafe fn free(&mut self) {
        if !self.data.is_null() {
            drop(Box::from_raw(std::ptr::slice_from_raw_parts_mut(self.data, self.count)));
        }
        self.data = std::ptr::null_mut();
        self.count = 0;
    }
}

pub type Text = Buffer<u8>;
pub type Ids = Buffer<u32>;
pub type Offsets = Buffer<usize>;

#[no_mangle]
pub unsafe extern "C" fn quire_text_delete(text: *mut Text) {
    (*text).free();
}
#[no_mangle]
pub unsafe extern "C" fn quire_ids_delete(ids: *mut Ids) {
    (*ids).free();
}
#[no_mangle]
pub unsafe extern "C" fn quire_offsets_delete(offsets: *mut Offsets) {
    (*offsets).free();
}

/// Runs `body`; a failure or a panic becomes a status and a message in `*error`.
///
/// # Safety
/// `error` points to memory for one `Text`, which is overwritten.
pub unsafe fn guard(error: *mut Text, body: impl FnOnce() -> Outcome<()>) -> Status {
    let failure = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => {
            error.write(Text::from_vec(Vec::new()));
            return Status::Ok;
        }
        Ok(Err(failure)) => failure,
        Err(payload) => {
            let said = payload
                .downcast_ref::<String>()
                .map(String::as_str)
                .or_else(|| payload.downcast_ref::<&str>().copied())
                .unwrap_or("no message");
            Failure::new(Status::Internal, format!("a library panicked: {said}"))
        }
    };
    error.write(Text::from_vec(failure.message.into_bytes()));
    failure.status
}
