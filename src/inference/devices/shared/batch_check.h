#pragma once
// The checks of a Batch in every backend: its limits, once where it enters, and the slots that it
// reads.
#include "inference/api/backend.h"
#include "inference/memory/page_tables.h"

namespace quire::inference {

// Stops the process when the batch breaks a limit: the engine above is wrong. `tables` are those
// after the batch's own changes.
void check_batch(const Batch& batch, const BackendCapabilities& capabilities,
                 const ModelInfo& model, const PageTables& tables);

// The error for a read of a slot that was not written, or whose write failed.
Error unread(EmbedSlot slot);

}  // namespace quire::inference
