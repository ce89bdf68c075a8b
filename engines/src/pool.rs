//! Settings of wasmtime's pool of instances that its C API leaves out.

use wasmtime_c_api::wasmtime::{Config, Enabled, PoolingAllocationConfig};
use wasmtime_c_api::{wasm_config_t, wasmtime_pooling_allocation_config_t};

// Both are #[repr(C)] around exactly this one field.
const _: () = assert!(std::mem::size_of::<wasm_config_t>() == std::mem::size_of::<Config>());
const _: () = assert!(
    std::mem::size_of::<wasmtime_pooling_allocation_config_t>()
        == std::mem::size_of::<PoolingAllocationConfig>()
);

/// # Safety
/// `pool` is live and nobody else uses it during the call.
#[no_mangle]
pub unsafe extern "C" fn quire_pool_resets_written_pages(
    pool: *mut wasmtime_pooling_allocation_config_t,
) {
    let pool = &mut *pool.cast::<PoolingAllocationConfig>();
    pool.pagemap_scan(Enabled::Auto);
}

/// # Safety
/// `config` is live and nobody else uses it during the call.
#[no_mangle]
pub unsafe extern "C" fn quire_config_resets_stacks(config: *mut wasm_config_t) {
    let config = &mut *config.cast::<Config>();
    config.async_stack_zeroing(true);
}
