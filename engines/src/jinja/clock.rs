//! `strftime_now`.

use super::error::{fail, Result};

/// `datetime.now().strftime(format)` for the given second, in the machine's time zone.
pub fn strftime(format: &str, now_unix_seconds: i64) -> Result<String> {
    if format.is_empty() {
        return Ok(String::new());
    }
    // Python's own field, which libc does not know; the clock gives whole seconds.
    let format = format.replace("%f", "000000");
    let Ok(format) = std::ffi::CString::new(format) else {
        return fail!("strftime_now: the format holds a zero byte");
    };
    let mut buffer = [0u8; 1024];
    let written = unsafe {
        let mut parts: libc::tm = std::mem::zeroed();
        if libc::localtime_r(&now_unix_seconds, &mut parts).is_null() {
            return fail!("strftime_now: the clock is out of range");
        }
        libc::strftime(buffer.as_mut_ptr().cast(), buffer.len(), format.as_ptr(), &parts)
    };
    if written == 0 {
        return fail!("strftime_now: the result is longer than 1 KiB");
    }
    match String::from_utf8(buffer[..written].to_vec()) {
        Ok(text) => Ok(text),
        Err(_) => fail!("strftime_now: the result is not UTF-8"),
    }
}
