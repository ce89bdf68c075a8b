//! Settings of wasmtime that its C API leaves out.

use wasmtime_c_api::wasm_config_t;
use wasmtime_c_api::wasmtime::{Config, WasmBacktraceDetails};

// The C type is #[repr(C)] around exactly this one field.
const _: () = assert!(std::mem::size_of::<wasm_config_t>() == std::mem::size_of::<Config>());

/// # Safety `config` is live, and no other thread uses it during the call.
#[no_mangle]
pub unsafe extern "C" fn quire_config_resets_stacks(config: *mut wasm_config_t) {
    let config = &mut *config.cast::<Config>();
    config.async_stack_zeroing(true);
}

/// # Safety `config` is live, and no other thread uses it during the call.
#[no_mangle]
pub unsafe extern "C" fn quire_config_traps_tell_lines(config: *mut wasm_config_t, lines: bool) {
    let config = &mut *config.cast::<Config>();
    config.wasm_backtrace_details(if lines {
        WasmBacktraceDetails::Enable
    } else {
        WasmBacktraceDetails::Disable
    });
}
