//! Requests to the outside, where the launch granted it (`quire run --allow-http`).
use crate::future::{nothing, to_bytes};
use crate::host::{self, checked_empty, Handle, Record};
use crate::raw;
use crate::{Error, ErrorCode, HostFuture, Result};

/// A header: its name, in lower case where it comes from a server, and its value.
pub type Header = (String, String);

/// The beginning of a response. A status of 400 and more is not an error.
#[derive(Clone, Debug, Default)]
pub struct Head {
    /// The status, as 200.
    pub status: u32,
    /// Names in lower case.
    pub headers: Vec<Header>,
}

impl Head {
    /// The status is 200 to 299.
    pub fn is_ok(&self) -> bool {
        (200..300).contains(&self.status)
    }
    /// The first of that name, in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        header_of(&self.headers, name)
    }

    fn read(record: &mut Record<'_>) -> Result<Head> {
        let status = record.u32()?;
        let bytes = record.u32()?;
        let lines = record.text(bytes)?;
        let headers = read_header_lines(&lines).ok_or_else(|| record.broken())?;
        Ok(Head { status, headers })
    }
    fn decode(bytes: &[u8]) -> Result<Head> {
        let mut record = Record::new(bytes, "the head of a response");
        let head = Head::read(&mut record)?;
        record.end(head)
    }
}

/// A whole response.
#[derive(Clone, Debug, Default)]
pub struct Response {
    /// The beginning.
    pub head: Head,
    /// The body.
    pub body: Vec<u8>,
}

impl Response {
    /// The body as text; bytes that are not UTF-8 become U+FFFD.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
    fn decode(bytes: &[u8]) -> Result<Response> {
        let mut record = Record::new(bytes, "a response");
        let head = Head::read(&mut record)?;
        Ok(Response { head, body: record.rest().to_vec() })
    }
}

pub(crate) fn header_of<'a>(headers: &'a [Header], name: &str) -> Option<&'a str> {
    headers.iter().find(|(each, _)| each == name).map(|(_, value)| value.as_str())
}

pub(crate) fn read_header_lines(lines: &str) -> Option<Vec<Header>> {
    lines
        .lines()
        .map(|line| {
            line.split_once(": ").map(|(name, value)| (name.to_string(), value.to_string()))
        })
        .collect()
}

/// Writes headers as the interface takes them. It has lines, so a line end in a value would begin
/// another header, which an attacker may have chosen. That is `invalid-argument`, as is a name that
/// is not a token.
pub(crate) fn header_lines(headers: &[Header]) -> Result<String> {
    let mut lines = String::new();
    for (number, (name, value)) in headers.iter().enumerate() {
        let is_token =
            |each: u8| each.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&each);
        if name.is_empty() || !name.bytes().all(is_token) {
            return Err(Error::invalid(format!(
                "header {} of {}: a name is one or more letters, digits and some of !#$%&'*+-.^_`|~",
                number + 1,
                headers.len()
            )));
        }
        if value.bytes().any(|each| (each < 0x20 && each != b'\t') || each == 0x7f) {
            return Err(Error::invalid(format!(
                "the value of the header \"{name}\" has a control character, such as a line end; only tabs may be in one"
            )));
        }
        lines += &format!("{name}: {value}\n");
    }
    Ok(lines)
}

/// `text` as a part of a URL, such as the value of a query.
pub fn encode_url(text: &str) -> String {
    text.bytes()
        .map(|each| match each {
            b'-' | b'.' | b'_' | b'~' => char::from(each).to_string(),
            each if each.is_ascii_alphanumeric() => char::from(each).to_string(),
            each => format!("%{each:02X}"),
        })
        .collect()
}

/// The whole response, redirects followed. `permission-denied` names the flag that would grant the URL.
pub fn get(url: &str, headers: &[Header]) -> HostFuture<Response> {
    let lines = match header_lines(headers) {
        Ok(lines) => lines,
        Err(error) => return HostFuture::failed(error, Response::decode),
    };
    let call = unsafe {
        raw::net::http_get(
            url.as_ptr(),
            host::count(url.as_bytes()),
            lines.as_ptr(),
            host::count(lines.as_bytes()),
        )
    };
    HostFuture::new(call, Response::decode)
}

/// The same with a body, by POST.
pub fn post(url: &str, body: impl AsRef<[u8]>, headers: &[Header]) -> HostFuture<Response> {
    let lines = match header_lines(headers) {
        Ok(lines) => lines,
        Err(error) => return HostFuture::failed(error, Response::decode),
    };
    let body = body.as_ref();
    let call = unsafe {
        raw::net::http_post(
            url.as_ptr(),
            host::count(url.as_bytes()),
            lines.as_ptr(),
            host::count(lines.as_bytes()),
            body.as_ptr(),
            host::count(body),
        )
    };
    HostFuture::new(call, Response::decode)
}

/// How long the body of a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyLength {
    /// So many bytes will be written; 0: there is none.
    Bytes(u64),
    /// The body ends with [`Exchange::finish`].
    Unknown,
}

/// A request and its response, piece by piece. Dropping it cancels it.
#[derive(Debug)]
pub struct Exchange {
    handle: Handle,
}

impl Exchange {
    /// Begins a request: "GET", "PUT" and the like.
    pub fn open(method: &str, url: &str, headers: &[Header], body: BodyLength) -> Result<Exchange> {
        let lines = header_lines(headers)?;
        let body_bytes = match body {
            BodyLength::Bytes(bytes) => i64::try_from(bytes)
                .map_err(|_| Error::new(ErrorCode::TooLarge, format!("a body of {bytes} bytes")))?,
            BodyLength::Unknown => -1,
        };
        let handle = Handle::of_call(unsafe {
            raw::net::http_request(
                method.as_ptr(),
                host::count(method.as_bytes()),
                url.as_ptr(),
                host::count(url.as_bytes()),
                lines.as_ptr(),
                host::count(lines.as_bytes()),
                body_bytes,
            )
        })?;
        Ok(Exchange { handle })
    }
    /// The next piece of the request's body; ready when another may follow.
    pub fn write(&self, bytes: &[u8]) -> HostFuture<()> {
        HostFuture::new(
            unsafe { raw::net::write_body(self.handle.get(), bytes.as_ptr(), host::count(bytes)) },
            nothing,
        )
    }
    /// Ends the request's body.
    pub fn finish(&self) -> Result<()> {
        checked_empty(unsafe { raw::net::finish_body(self.handle.get()) })
    }
    /// Ready when the server has answered.
    pub fn head(&self) -> HostFuture<Head> {
        HostFuture::new(unsafe { raw::net::response_head(self.handle.get()) }, Head::decode)
    }
    /// The next piece of the response's body; empty: it has ended.
    pub fn read(&self) -> HostFuture<Vec<u8>> {
        HostFuture::new(unsafe { raw::net::read_body(self.handle.get()) }, to_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_cannot_begin_another_one() {
        let one = |name: &str, value: &str| header_lines(&[(name.to_string(), value.to_string())]);
        assert_eq!(one("x-a", "b\tc").unwrap(), "x-a: b\tc\n");
        for (name, value) in
            [("x-a", "b\nx-b: c"), ("x-a", "b\r"), ("", "b"), ("x a", "b"), ("x:", "b")]
        {
            assert!(one(name, value).is_err());
        }
        assert_eq!(encode_url("a b/ü~"), "a%20b%2F%C3%BC~");
    }
}
