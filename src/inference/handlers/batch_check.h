#pragma once
// The limits that every Batch keeps, checked once where it enters a backend.
#include "inference/api/backend.h"
#include "inference/memory/page_tables.h"

namespace quire::inference {

// Stops the process when the batch breaks a limit: the engine above is wrong. `tables` are those
// after the batch's own changes.
void check_batch(const Batch& batch, const BackendCapabilities& capabilities,
                 const ModelInfo& model, const PageTables& tables);

}  // namespace quire::inference
