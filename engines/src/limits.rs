//! Limits of a wasmtime store that end a guest which wants more than it may have. The C API of
//! wasmtime can only refuse the growth. Then the reason why the guest trapped a moment later is lost.

use wasmtime_c_api::wasmtime::{Store, StoreLimitsBuilder};
use wasmtime_c_api::{wasmtime_store_t, WasmtimeStoreData};

// wasmtime_store_t is #[repr(C)] around exactly this one field.
const _: () = assert!(
    std::mem::size_of::<wasmtime_store_t>() == std::mem::size_of::<Store<WasmtimeStoreData>>()
);

/// # Safety `store` is a live store that no other thread uses during the call.
#[no_mangle]
pub unsafe extern "C" fn quire_store_limits(
    store: *mut wasmtime_store_t,
    memory_bytes: u64,
    table_elements: u64,
) {
    let store = &mut *store.cast::<Store<WasmtimeStoreData>>();
    store.data_mut().store_limits = StoreLimitsBuilder::new()
        .memory_size(memory_bytes as usize)
        .table_elements(table_elements as usize)
        .instances(1)
        .tables(1)
        .memories(1)
        .trap_on_grow_failure(true)
        .build();
    store.limiter(|data| &mut data.store_limits);
}
