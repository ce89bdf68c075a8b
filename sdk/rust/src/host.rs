//! Common parts of all calls of the host: handles that are given back, and results that are
//! checked.
use crate::raw;
use crate::{Error, Result};

/// A handle of the host, given back when it goes.
#[derive(Debug)]
pub(crate) struct Handle(i32);

impl Handle {
    pub(crate) fn new(number: i32) -> Handle {
        Handle(number)
    }
    pub(crate) fn of_call(returned: i32) -> Result<Handle> {
        checked(returned).map(|number| Handle(number as i32))
    }
    pub(crate) fn get(&self) -> i32 {
        self.0
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        unsafe { raw::future::drop(self.0) };
    }
}

/// Checks the value that a call returned: a result, or minus an error code with a message to fetch.
pub(crate) fn checked(returned: i32) -> Result<u32> {
    u32::try_from(returned).map_err(|_| Error::of_call(returned.into()))
}

pub(crate) fn checked_empty(returned: i32) -> Result<()> {
    checked(returned).map(|_| ())
}

/// An element count, as calls take it.
pub(crate) fn count<T>(list: &[T]) -> u32 {
    u32::try_from(list.len()).expect("a list of less than 2^32 elements")
}

/// Calls `call(buffer, capacity)` until what it writes fits.
pub(crate) fn bytes_from(mut call: impl FnMut(*mut u8, u32) -> i32) -> Result<Vec<u8>> {
    let mut bytes = vec![0u8; 256];
    loop {
        let wanted = checked(call(bytes.as_mut_ptr(), count(&bytes)))? as usize;
        let fits = wanted <= bytes.len();
        bytes.resize(wanted, 0);
        if fits {
            return Ok(bytes);
        }
    }
}

pub(crate) fn text_from(call: impl FnMut(*mut u8, u32) -> i32) -> Result<String> {
    Ok(String::from_utf8_lossy(&bytes_from(call)?).into_owned())
}

/// Reads a record of the interface from its front: numbers are little-endian, and nothing lies between.
pub(crate) struct Record<'a> {
    rest: &'a [u8],
    whole: usize,
    what: &'static str,
}

impl<'a> Record<'a> {
    pub(crate) fn new(bytes: &'a [u8], what: &'static str) -> Record<'a> {
        Record { rest: bytes, whole: bytes.len(), what }
    }
    pub(crate) fn bytes(&mut self, count: usize) -> Result<&'a [u8]> {
        if count > self.rest.len() {
            return Err(self.broken());
        }
        let (taken, rest) = self.rest.split_at(count);
        self.rest = rest;
        Ok(taken)
    }
    pub(crate) fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.bytes(4)?.try_into().expect("four bytes")))
    }
    pub(crate) fn f32(&mut self) -> Result<f32> {
        Ok(f32::from_bits(self.u32()?))
    }
    pub(crate) fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.bytes(8)?.try_into().expect("eight bytes")))
    }
    pub(crate) fn text(&mut self, bytes: u32) -> Result<String> {
        Ok(String::from_utf8_lossy(self.bytes(bytes as usize)?).into_owned())
    }
    pub(crate) fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }
    pub(crate) fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }
    /// Nothing may be left.
    pub(crate) fn end<T>(self, value: T) -> Result<T> {
        if self.rest.is_empty() {
            Ok(value)
        } else {
            Err(self.broken())
        }
    }
    pub(crate) fn broken(&self) -> Error {
        Error::broken(self.what, self.whole)
    }
}

pub(crate) fn u32s(bytes: &[u8]) -> Vec<u32> {
    bytes
        .chunks_exact(4)
        .map(|each| u32::from_le_bytes(each.try_into().expect("four bytes")))
        .collect()
}
