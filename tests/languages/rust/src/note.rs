//! How what came of a call is written: see rows.h.
use quire::{
    messaging, raw, session, Counters, Distribution, Error, ErrorCode, Generation, HostFuture,
    Result,
};

pub struct Rows {
    /// There is no session: the lines go to the queue "served".
    pub is_served: bool,
}

impl Rows {
    pub fn line(&self, text: &str) {
        let text = format!("{text}\n");
        if self.is_served { messaging::push("served", &text) } else { session::send(&text) }
            .expect("a line is sent")
    }
    pub fn row<T>(&self, name: &str, result: Result<T>, show: impl FnOnce(T) -> String) {
        match result {
            Ok(value) => self.line(&format!("{name} = {}", show(value))),
            Err(error) => self.line(&format!("{name} ! {error}")),
        }
    }
    /// A call that gives nothing but whether it worked.
    pub fn raw(&self, name: &str, returned: i32) {
        self.row(name, checked(returned), ok);
    }
    /// The same of a future.
    pub async fn future(&self, name: &str, returned: i32) {
        self.row(name, HostFuture::new(returned, nothing).await, ok);
    }
}

pub fn nothing(_: &[u8]) -> Result<()> {
    Ok(())
}
pub fn checked(returned: i32) -> Result<i32> {
    if returned >= 0 {
        return Ok(returned);
    }
    let mut message = vec![0u8; 4096];
    let bytes = unsafe { raw::runtime::last_error(message.as_mut_ptr(), 4096) };
    message.truncate(bytes as usize);
    Err(Error::new(ErrorCode::of_number(-returned), String::from_utf8_lossy(&message)))
}

pub fn ok<T>(_: T) -> String {
    "ok".into()
}
pub fn number(value: impl ToString) -> String {
    value.to_string()
}
pub fn bits(value: impl Into<f64>) -> String {
    value.into().to_bits().to_string()
}
pub fn quoted(text: impl AsRef<str>) -> String {
    format!("\"{}\"", text.as_ref().replace('\n', " "))
}
pub fn list<T: ToString>(values: impl IntoIterator<Item = T>) -> String {
    let all: Vec<String> = values.into_iter().map(|each| each.to_string()).collect();
    format!("[{}]", all.join(" "))
}
pub fn texts(values: Vec<String>) -> String {
    list(values.iter().map(quoted))
}
pub fn counters(each: Counters) -> String {
    list([
        each.seq_len,
        each.committed_page_count,
        each.working_page_count,
        each.working_page_token_count,
    ])
}
pub fn distribution(next: Distribution) -> String {
    let tokens = list(next.tokens.iter().map(|each| each.token));
    format!("{tokens} {}", list(next.tokens.iter().map(|each| bits(each.probability))))
}
pub fn answer(said: Generation) -> String {
    format!("{} {} {}", list(&said.tokens), quoted(&said.text), bits(said.log_probability))
}
pub fn hash(bytes: &[u8], count: usize) -> String {
    let hash = bytes
        .iter()
        .fold(2_166_136_261u32, |hash, each| (hash ^ u32::from(*each)).wrapping_mul(16_777_619));
    format!("{count} #{hash}")
}
pub fn hash_of(words: Vec<u32>) -> String {
    quoted(hash(
        &words.iter().flat_map(|each| each.to_le_bytes()).collect::<Vec<u8>>(),
        words.len(),
    ))
}
pub fn hash_of_floats(numbers: Vec<f32>) -> String {
    hash_of(numbers.into_iter().map(f32::to_bits).collect())
}
