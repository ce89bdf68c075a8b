#include "control/batches/batch_draft.h"

#include "base/planted_fault.h"

namespace quire::control {

BatchDraft::BatchDraft(Replica& replica, BatchId id, BatchBuffers buffers, const Limits& limits)
    : replica_(replica),
      limits_(limits),
      batch_(std::move(buffers.batch)),
      flight_(std::move(buffers.flight)),
      lookups_left_(limits.lookup_page_count_max),
      commands_left_(limits.command_count_max),
      device_row_limit_(replica.resources.device.row_count_max +
                        (is_planted(Fault::BatchOverLimit) ? 1 : 0)),
      row_limit_(device_row_limit_) {
  batch_.clear();
  batch_.id = id;
  batch_.model = inference::ModelId{static_cast<std::uint32_t>(replica.index)};
  flight_.clear();
  flight_.id = id;
}

bool BatchDraft::is_empty() const {
  return batch_.passes.empty() && batch_.distributions.empty() && batch_.loads.empty() &&
         batch_.copies.empty() && batch_.saves.empty();
}

}  // namespace quire::control
