//! The error of a call.
use crate::raw::{self, ErrorCode};
use std::fmt;

/// A call of the server that failed, or an error of the program's own: a code of `interface/types.wit`, and a
/// message that says what, which and how much.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The kind of error; its number is the exit code of a program that ends with it.
    pub code: ErrorCode,
    /// The message for people.
    pub message: String,
}

/// The result of most calls of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An error of the program's own.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Error {
        Error { code, message: message.into() }
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Error {
        Error::new(ErrorCode::InvalidArgument, message)
    }

    /// The bytes of a result are not what the interface says.
    pub(crate) fn broken(what: &str, bytes: usize) -> Error {
        Error::new(ErrorCode::Internal, format!("{what} in {bytes} bytes"))
    }

    /// The error of a call that returned `number`, which is negative.
    pub(crate) fn of_call(number: i64) -> Error {
        Error { code: ErrorCode::of_number((-number) as i32), message: last_error_message() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.message.is_empty() {
            return to.write_str(self.code.name());
        }
        write!(to, "{}: {}", self.code.name(), self.message)
    }
}

impl std::error::Error for Error {}

impl From<String> for Error {
    fn from(message: String) -> Error {
        Error::invalid(message)
    }
}
impl From<&str> for Error {
    fn from(message: &str) -> Error {
        Error::invalid(message)
    }
}
impl From<fmt::Error> for Error {
    fn from(error: fmt::Error) -> Error {
        Error::new(ErrorCode::Internal, error.to_string())
    }
}
impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Error {
        Error::new(ErrorCode::Io, error.to_string())
    }
}
impl From<Box<dyn std::error::Error>> for Error {
    fn from(error: Box<dyn std::error::Error>) -> Error {
        match error.downcast::<Error>() {
            Ok(own) => *own,
            Err(other) => Error::new(ErrorCode::Internal, other.to_string()),
        }
    }
}
macro_rules! from_wrong_text {
    ($($kind:ty),*) => {$(
        impl From<$kind> for Error {
            fn from(error: $kind) -> Error {
                Error::invalid(error.to_string())
            }
        }
    )*};
}
from_wrong_text!(
    std::num::ParseIntError,
    std::num::ParseFloatError,
    std::str::Utf8Error,
    std::string::FromUtf8Error
);

fn last_error_message() -> String {
    let mut message = vec![0u8; 256];
    loop {
        let bytes = unsafe { raw::runtime::last_error(message.as_mut_ptr(), message.len() as u32) };
        let bytes = usize::try_from(bytes).unwrap_or(0);
        let fits = bytes <= message.len();
        message.resize(bytes, 0);
        if fits {
            return String::from_utf8_lossy(&message).into_owned();
        }
    }
}
