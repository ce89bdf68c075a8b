//! Small values by key that outlive the program and the server. They are the tenant's: all its programs see
//! the same.
use crate::future::nothing;
use crate::host::{self, Record};
use crate::raw;
use crate::{HostFuture, Result};

/// The version that a key must have for a change to take effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// Any value, or none.
    Any,
    /// No value.
    Nothing,
    /// The value of that version; `already-exists` or `not-found` where it is another, or none.
    Version(u64),
}

impl Expected {
    fn number(self) -> i64 {
        match self {
            Expected::Any => -1,
            Expected::Nothing => 0,
            Expected::Version(version) => version as i64,
        }
    }
}

/// A value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    /// Changes with each put.
    pub version: u64,
    /// The content.
    pub bytes: Vec<u8>,
}

impl Value {
    /// The content as text; bytes that are not UTF-8 become U+FFFD.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

/// A key that has a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// The name.
    pub name: String,
    /// The version of its value.
    pub version: u64,
    /// The size of its value.
    pub value_bytes: u32,
}

/// Keys, in the order of their bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyList {
    /// At most as many as were asked for.
    pub keys: Vec<Key>,
    /// Whether there are more keys after these.
    pub has_more: bool,
}

/// Keeps a value; gives its version, when it is on disk.
pub fn put(key: &str, value: impl AsRef<[u8]>, expected: Expected) -> HostFuture<u64> {
    let value = value.as_ref();
    let call = unsafe {
        raw::store::put(
            key.as_ptr(),
            host::count(key.as_bytes()),
            value.as_ptr(),
            host::count(value),
            expected.number(),
        )
    };
    HostFuture::new(call, |bytes| {
        let mut record = Record::new(bytes, "a version");
        let version = record.u64()?;
        record.end(version)
    })
}

/// The value of a key. `not-found` where there is none.
pub fn get(key: &str) -> HostFuture<Value> {
    HostFuture::new(
        unsafe { raw::store::get(key.as_ptr(), host::count(key.as_bytes())) },
        |bytes| {
            let mut record = Record::new(bytes, "a value");
            Ok(Value { version: record.u64()?, bytes: record.rest().to_vec() })
        },
    )
}

/// Takes a value away. `not-found` where there is none.
pub fn remove(key: &str, expected: Expected) -> HostFuture<()> {
    let call =
        unsafe { raw::store::delete(key.as_ptr(), host::count(key.as_bytes()), expected.number()) };
    HostFuture::new(call, nothing)
}

/// Keys that begin with `prefix`, after `after`, at most `count` (1,000 at most).
pub fn list_keys(prefix: &str, after: &str, count: u32) -> HostFuture<KeyList> {
    let call = unsafe {
        raw::store::list_keys(
            prefix.as_ptr(),
            host::count(prefix.as_bytes()),
            after.as_ptr(),
            host::count(after.as_bytes()),
            count,
        )
    };
    HostFuture::new(call, |bytes| {
        let mut record = Record::new(bytes, "a list of keys");
        let count = record.u32()?;
        let mut list = KeyList { keys: Vec::new(), has_more: record.u32()? != 0 };
        for _ in 0..count {
            let version = record.u64()?;
            let (value_bytes, name_bytes) = (record.u32()?, record.u32()?);
            list.keys.push(Key { name: record.text(name_bytes)?, version, value_bytes });
        }
        record.end(list)
    })
}

/// All keys that begin with `prefix`.
pub async fn all_keys(prefix: &str) -> Result<Vec<Key>> {
    let mut keys: Vec<Key> = Vec::new();
    loop {
        let after = keys.last().map(|each| each.name.clone()).unwrap_or_default();
        let list = list_keys(prefix, &after, 1000).await?;
        let is_last = !list.has_more || list.keys.is_empty();
        keys.extend(list.keys);
        if is_last {
            return Ok(keys);
        }
    }
}
