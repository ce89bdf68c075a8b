//! The instance and its launcher.
use crate::host::{self, checked, checked_empty, text_from};
use crate::raw;
use crate::Result;
use std::time::Duration;

/// How much a line of the log matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum LogLevel {
    Debug,
    Info,
    Warning,
    Error,
}

/// The arguments of the launch, without the program's name.
pub fn arguments() -> Result<Vec<String>> {
    let count = checked(unsafe { raw::runtime::get_arg_count() })?;
    (0..count)
        .map(|number| {
            text_from(|buffer, capacity| unsafe { raw::runtime::get_arg(number, buffer, capacity) })
        })
        .collect()
}
/// The server's version.
pub fn version() -> Result<String> {
    text_from(|buffer, capacity| unsafe { raw::runtime::get_version(buffer, capacity) })
}
/// A number that no other instance of this server has had.
pub fn instance_id() -> i64 {
    unsafe { raw::runtime::get_instance_id() }
}
/// The tenant that this program belongs to.
pub fn tenant() -> Result<String> {
    text_from(|buffer, capacity| unsafe { raw::runtime::get_tenant(buffer, capacity) })
}
/// A line for each limit of this program: its name, the maximum, what is used.
pub fn limits() -> Result<String> {
    text_from(|buffer, capacity| unsafe { raw::runtime::limits(buffer, capacity) })
}
/// Why a pass computed tokens that the cache did not have. The numbers are those of `interface/runtime.wit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Miss {
    pub reason: u32,
    pub field: u32,
    pub position: u32,
    pub token_count: u32,
    pub slot: u32,
    pub here: u32,
    pub there: u32,
    pub gone_ms: u32,
}
/// The misses of this program's passes. `not-supported`: the server runs without `--explain-misses`.
pub fn misses() -> Result<Vec<Miss>> {
    let bytes =
        host::bytes_from(|buffer, capacity| unsafe { raw::runtime::misses(buffer, capacity) })?;
    let of = |each: &[u32]| Miss {
        reason: each[0],
        field: each[1],
        position: each[2],
        token_count: each[3],
        slot: each[4],
        here: each[5],
        there: each[6],
        gone_ms: each[7],
    };
    Ok(host::u32s(&bytes).chunks_exact(8).map(of).collect())
}
/// A line of the log. `println!` writes there, too.
pub fn log(level: LogLevel, text: &str) {
    unsafe { raw::runtime::log(level as u32, text.as_ptr(), host::count(text.as_bytes())) };
}
/// Sets the result that the launcher gets when the program ends; the last one counts.
pub fn set_result(result: &str) -> Result<()> {
    checked_empty(unsafe {
        raw::runtime::set_result(result.as_ptr(), host::count(result.as_bytes()))
    })
}
/// Time since some moment in the past; it never goes back.
pub fn now() -> Duration {
    Duration::from_nanos(u64::try_from(unsafe { raw::runtime::clock_now() }).unwrap_or(0))
}
/// Fills `buffer` with random bytes, at most 65,536.
pub fn random(buffer: &mut [u8]) -> Result<()> {
    checked_empty(unsafe { raw::runtime::random(buffer.as_mut_ptr(), host::count(buffer)) })
}
