#pragma once
// The checks of a PageLoad, and of the memory of a PageSave, in every backend before it moves
// bytes.
//
// `page_bytes` is BackendCapabilities::page_bytes; 0 gives NotSupported.
#include "inference/api/batch.h"

namespace quire::inference {

// InvalidArgument for another number of bytes.
Result<void> check_load(const PageLoad& load, std::uint64_t page_bytes);

// Takes the memory that came with the save, or new memory where none did. InvalidArgument for
// memory of another size.
Result<PageBytes> take_memory(PageSave& save, std::uint64_t page_bytes);

}  // namespace quire::inference
