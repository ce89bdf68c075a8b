#pragma once
// The checks of a PageLoad, and of the memory of a PageSave, in every backend before it moves
// bytes. A device that has none to move, because its page_bytes or state_bytes is 0, gives
// NotSupported.
#include "inference/api/backend.h"
#include "inference/api/batch.h"

namespace quire::inference {

// InvalidArgument for another number of bytes.
Result<void> check_load(const PageLoad& load, const BackendCapabilities& device);

// Takes the memory that came with the save, or new memory where none did. InvalidArgument for
// memory of another size.
Result<PageBytes> take_memory(PageSave& save, const BackendCapabilities& device);

}  // namespace quire::inference
