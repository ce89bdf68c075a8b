//! Why a template cannot be compiled or rendered.

use std::fmt;

/// An error, and the line of the template that it is in.
#[derive(Debug, Clone)]
pub struct Error {
    pub message: String,
    pub line: Option<usize>,
}

pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub fn new(message: impl Into<String>) -> Self {
        Error { message: message.into(), line: None }
    }
    pub fn at(line: usize, message: impl Into<String>) -> Self {
        Error { message: message.into(), line: Some(line) }
    }
    /// The innermost expression names its line first, and that line stays.
    pub fn or_line(mut self, line: usize) -> Self {
        self.line.get_or_insert(line);
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(out, "{} (in chat_template:{line})", self.message),
            None => out.write_str(&self.message),
        }
    }
}

/// `Err` with a formatted message.
macro_rules! fail {
    ($($part:tt)*) => { Err($crate::jinja::error::Error::new(format!($($part)*))) };
}
pub(crate) use fail;
