//! Programs that answer HTTP requests. A server launches the program once for each request to its endpoint
//! (`quire serve --endpoint "POST /greet=greet.wasm"`).
//!
//! ```no_run
//! use quire::serve::{Request, Response};
//! use quire::{Json, Result};
//!
//! #[quire::endpoint]
//! async fn greet(request: Request, response: Response) -> Result<()> {
//!     let body = request.json().await?; // Status 400 if it is not JSON.
//!     let text = format!("hello, {}", body["name"].text());
//!     response.json(200, &Json::object([("text", text.into())])).await
//! }
//! ```
//!
//! `return Err(request.refuse(404, "no such model"))` ends the handler with a response that the SDK writes:
//! `{"error": {"code", "message", "request_id"}}`. The code goes with the status. Any other error is the program's
//! own: the operator reads it in the log, and the server responds 503 if it says that the server is full, 504 for a
//! timeout, and else 500, "internal error". If the client goes first, the server ends the program.
use crate::future::{nothing, to_bytes};
use crate::host::{self, checked_empty, Record};
use crate::http::{header_lines, header_of, read_header_lines, Header};
use crate::raw;
use crate::{Error, ErrorCode, HostFuture, Json, Result};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

pub use crate::live::{LiveEvents, PING_INTERVAL};

/// The most bytes of a request's body that is read whole.
pub const BODY_BYTES_MAX: usize = 32 << 20;
const PART_BYTES_MAX: usize = 1 << 20; // Of one write.

/// The state that the request and its response share.
#[derive(Debug)]
struct Shared {
    method: String,
    target: String,
    headers: Vec<Header>,
    added: RefCell<Vec<Header>>, // To the response.
    is_begun: Cell<bool>,
    is_finished: Cell<bool>,
    refusal: RefCell<Option<(u32, Error)>>, // The last one that the handler asked for.
}

impl Shared {
    fn id(&self) -> &str {
        header_of(&self.headers, "x-request-id").unwrap_or("")
    }
}

/// The request that launched the program. Copies are the same one.
#[derive(Clone, Debug)]
pub struct Request {
    shared: Rc<Shared>,
}

impl Request {
    /// `not-supported`: no request launched the program. `#[quire::endpoint]` opens it for the handler.
    pub fn open() -> Result<Request> {
        let bytes = host::bytes_from(|buffer, capacity| unsafe {
            raw::serve::request_head(buffer, capacity)
        })?;
        let mut record = Record::new(&bytes, "a request's head");
        let (method, target, headers) = (record.u32()?, record.u32()?, record.u32()?);
        let (method, target) = (record.text(method)?, record.text(target)?);
        let lines = record.text(headers)?;
        let headers = read_header_lines(&lines).ok_or_else(|| record.broken())?;
        let shared = Shared {
            method,
            target,
            headers,
            added: RefCell::default(),
            is_begun: Cell::new(false),
            is_finished: Cell::new(false),
            refusal: RefCell::new(None),
        };
        record.end(Request { shared: Rc::new(shared) })
    }

    /// "POST" and the like.
    pub fn method(&self) -> &str {
        &self.shared.method
    }
    /// The path with its query, as the client sent it.
    pub fn target(&self) -> &str {
        &self.shared.target
    }
    /// Without the query.
    pub fn path(&self) -> &str {
        self.target().split('?').next().unwrap_or("")
    }
    /// The part of the path after `prefix`, decoded: the name in "/models/NAME". Empty if it has none.
    pub fn path_after(&self, prefix: &str) -> String {
        self.path().strip_prefix(prefix).map(decode_path).unwrap_or_default()
    }
    /// The parameters of the query in their order, decoded; one without "=" has an empty value.
    pub fn query_parameters(&self) -> Vec<(String, String)> {
        let query = self.target().split_once('?').map_or("", |(_, query)| query);
        let decode = |text: &str| decode_path(&text.replace('+', " "));
        query
            .split('&')
            .filter(|each| !each.is_empty())
            .map(|each| each.split_once('=').unwrap_or((each, "")))
            .map(|(name, value)| (decode(name), decode(value)))
            .collect()
    }
    /// The headers; names in lower case.
    pub fn headers(&self) -> &[Header] {
        &self.shared.headers
    }
    /// The first of that name, in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        header_of(&self.shared.headers, name)
    }
    /// The client's, or one that the server made.
    pub fn id(&self) -> &str {
        self.shared.id()
    }

    /// The next part of the body; empty at its end.
    pub fn read(&self) -> HostFuture<Vec<u8>> {
        HostFuture::new(unsafe { raw::serve::read_request() }, to_bytes)
    }
    /// The rest of the body. Refused with 413 if it has more than [`BODY_BYTES_MAX`].
    pub async fn body(&self) -> Result<Vec<u8>> {
        let mut all = Vec::new();
        loop {
            let part = self.read().await?;
            if part.is_empty() {
                return Ok(all);
            }
            if part.len() > BODY_BYTES_MAX - all.len() {
                let message = format!("the body has more than {BODY_BYTES_MAX} bytes");
                return Err(self.refuse_with(413, Error::new(ErrorCode::TooLarge, message)));
            }
            all.extend(part);
        }
    }
    /// The body as JSON. Refused with 400 if it is none.
    pub async fn json(&self) -> Result<Json> {
        let body = self.body().await?;
        let text =
            std::str::from_utf8(&body).map_err(|_| self.refuse(400, "the body is no UTF-8"))?;
        Json::parse(text).map_err(|error| self.refuse(400, &format!("the body: {}", error.message)))
    }

    /// An error with which the handler ends, and the client gets that status.
    pub fn refuse(&self, status: u32, message: &str) -> Error {
        self.refuse_with(status, Error::new(code_of_status(status), message))
    }
    /// The same with another code.
    pub fn refuse_with(&self, status: u32, error: Error) -> Error {
        *self.shared.refusal.borrow_mut() = Some((status, error.clone()));
        error
    }

    /// The response to it.
    pub fn response(&self) -> Response {
        Response { shared: self.shared.clone() }
    }
}

/// "%41" of a path; what is not an escape stays as it is.
fn decode_path(text: &str) -> String {
    let bytes = text.as_bytes();
    let digit = |at: usize| bytes.get(at).and_then(|each| char::from(*each).to_digit(16));
    let mut out = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        match (bytes[at], digit(at + 1), digit(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                out.push((high * 16 + low) as u8);
                at += 3;
            }
            (each, _, _) => {
                out.push(each);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// The response. Copies are the same one.
#[derive(Clone, Debug)]
pub struct Response {
    shared: Rc<Shared>,
}

impl Response {
    /// Whether its status and headers are sent.
    pub fn is_begun(&self) -> bool {
        self.shared.is_begun.get()
    }
    /// Whether it is whole.
    pub fn is_finished(&self) -> bool {
        self.shared.is_finished.get()
    }
    /// The response has it too, whatever begins it.
    pub fn add_header(&self, name: &str, value: &str) {
        self.shared.added.borrow_mut().push((name.to_string(), value.to_string()));
    }

    /// The first bytes. Without a "content-length" the body ends with [`finish`](Response::finish).
    /// `invalid-argument`: a name of a header that is not a token, or a value with a line end or
    /// another control character but a tab.
    pub fn begin(&self, status: u32, headers: &[Header]) -> Result<()> {
        let all: Vec<Header> =
            headers.iter().chain(self.shared.added.borrow().iter()).cloned().collect();
        let lines = header_lines(&all)?;
        checked_empty(unsafe {
            raw::serve::respond(status, lines.as_ptr(), host::count(lines.as_bytes()), 0)
        })?;
        self.shared.is_begun.set(true);
        Ok(())
    }
    /// The next part of the body, at most 1 MiB. Ready once there is room for another: wait for it.
    pub fn write(&self, part: impl AsRef<[u8]>) -> HostFuture<()> {
        let part = part.as_ref();
        HostFuture::new(
            unsafe { raw::serve::write_response(part.as_ptr(), host::count(part)) },
            nothing,
        )
    }
    /// Ends the body.
    pub fn finish(&self) -> Result<()> {
        checked_empty(unsafe { raw::serve::finish_response() })?;
        self.shared.is_finished.set(true);
        Ok(())
    }

    /// All of it, as "text/plain; charset=utf-8".
    pub async fn send(&self, status: u32, body: impl AsRef<[u8]>) -> Result<()> {
        self.send_as(status, "text/plain; charset=utf-8", body.as_ref(), &[]).await
    }
    /// All of it, as JSON.
    pub async fn json(&self, status: u32, body: &Json) -> Result<()> {
        self.send_as(status, "application/json", body.to_string().as_bytes(), &[]).await
    }
    /// All of it, with that media type and these headers.
    pub async fn send_as(
        &self,
        status: u32,
        media_type: &str,
        body: &[u8],
        headers: &[Header],
    ) -> Result<()> {
        let has_body = status != 204 && status != 304;
        let mut all = headers.to_vec();
        all.push(("content-type".to_string(), media_type.to_string()));
        if has_body {
            all.push(("content-length".to_string(), body.len().to_string()));
        }
        self.begin(status, &all)?;
        for part in body.chunks(PART_BYTES_MAX).filter(|_| has_body) {
            self.write(part).await?;
        }
        self.finish()
    }
    /// In the form of the server's own errors.
    pub async fn error(&self, status: u32, error: &Error, headers: &[Header]) -> Result<()> {
        let told = Json::object([
            ("code", error.code.name().into()),
            ("message", error.message.as_str().into()),
            ("request_id", self.shared.id().into()),
        ]);
        let body = format!("{}\n", Json::object([("error", told)]));
        self.send_as(status, "application/json", body.as_bytes(), headers).await
    }
    /// Begins a response of events (Server-Sent Events), status 200.
    pub fn events(&self) -> Result<EventStream> {
        let header = |name: &str, value: &str| (name.to_string(), value.to_string());
        self.begin(
            200,
            &[header("content-type", "text/event-stream"), header("cache-control", "no-store")],
        )?;
        Ok(EventStream { response: self.clone() })
    }
}

/// A response of type text/event-stream.
#[derive(Clone, Debug)]
pub struct EventStream {
    response: Response,
}

impl EventStream {
    /// One event, whose data may have several lines. Ready once there is room for another.
    pub fn send(&self, data: &str) -> HostFuture<()> {
        self.send_named("", data)
    }
    /// One of that name; empty: the client takes it for "message".
    pub fn send_named(&self, name: &str, data: &str) -> HostFuture<()> {
        let mut text = if name.is_empty() { String::new() } else { format!("event: {name}\n") };
        for line in data.split('\n') {
            text += &format!("data: {line}\n");
        }
        self.response.write(text + "\n")
    }
    /// Clients pass over it; it keeps proxies from closing a silent connection.
    pub fn comment(&self, text: &str) -> HostFuture<()> {
        self.response.write(format!(": {text}\n\n"))
    }
    /// The same stream, with a ping in each `interval` without an event: see [`LiveEvents`].
    pub fn keep_alive(self, interval: Duration) -> LiveEvents {
        LiveEvents::new(self, interval)
    }
    /// Ends the response.
    pub fn finish(&self) -> Result<()> {
        self.response.finish()
    }
}

/// Responds for a handler that ended without a response.
pub(crate) async fn finish(request: Request, outcome: Result<()>) -> Result<()> {
    let response = request.response();
    let Err(error) = outcome else {
        if response.is_begun() && !response.is_finished() {
            response.finish()?;
        }
        return Ok(());
    };
    let refusal = request.shared.refusal.borrow().clone().filter(|(_, refused)| *refused == error);
    let Some((status, _)) = refusal.filter(|_| !response.is_begun()) else {
        return Err(error); // The server responds, if nothing has begun.
    };
    // A header that cannot be sent must not keep the refusal from the client.
    request
        .shared
        .added
        .borrow_mut()
        .retain(|each| header_lines(std::slice::from_ref(each)).is_ok());
    let retry = [("retry-after".to_string(), "1".to_string())];
    response.error(status, &error, if status == 503 { &retry } else { &[] }).await
}

/// The code that goes with the status of an error; the table of the C++ SDK.
fn code_of_status(status: u32) -> ErrorCode {
    match status {
        401 | 403 => ErrorCode::PermissionDenied,
        404 | 410 => ErrorCode::NotFound,
        405 | 415 | 501 => ErrorCode::NotSupported,
        408 | 504 => ErrorCode::Timeout,
        409 => ErrorCode::AlreadyExists,
        413 => ErrorCode::TooLarge,
        416 => ErrorCode::OutOfRange,
        429 => ErrorCode::QuotaExceeded,
        502 | 503 => ErrorCode::Unavailable,
        0..=499 => ErrorCode::InvalidArgument,
        _ => ErrorCode::Internal,
    }
}
