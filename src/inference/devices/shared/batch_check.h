#pragma once
// What every backend checks of a Batch: its limits, once where it enters, and the slots that it
// reads.
#include "inference/api/backend.h"
#include "inference/memory/page_tables.h"

namespace quire::inference {

// Stops the process when the batch breaks a limit: the engine above is wrong. `tables` are those
// after the batch's own changes.
void check_batch(const Batch& batch, const BackendCapabilities& capabilities,
                 const ModelInfo& model, const PageTables& tables);

// What who reads a slot gets where nothing was written, or only what failed.
Error unread(EmbedSlot slot);

}  // namespace quire::inference
