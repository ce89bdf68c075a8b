#include "control/batches/batch_draft.h"

#include <algorithm>
#include <span>

#include "base/planted_fault.h"
#include "control/contexts/chosen_adapters.h"

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

std::uint32_t BatchDraft::adapters_of(const ChosenAdaptersRef& set) {
  if (set == nullptr) return inference::kNoAdapters;
  const auto same = std::find_if(adapters_.begin(), adapters_.end(), [&](const auto& each) {
    if (is_planted(Fault::AdapterScaleOfAnother)) {
      return std::ranges::equal(each->set, set->set, {}, &ScaledAdapter::digest,
                                &ScaledAdapter::digest);
    }
    return each == set || each->set == set->set;
  });
  if (same != adapters_.end()) return static_cast<std::uint32_t>(same - adapters_.begin());
  adapters_.push_back(set);
  batch_.adapter_sets.push_back(set->weights);
  adapter_costs_.push_back(adapter_cost(set, replica_.model_number_count));
  return static_cast<std::uint32_t>(adapters_.size()) - 1;
}

double BatchDraft::adapter_cost_of_last(std::uint32_t row_count) const {
  double cost = 0;
  for (const inference::Row& row : std::span(batch_.rows).last(row_count)) {
    if (row.adapters != inference::kNoAdapters) cost += adapter_costs_[row.adapters];
  }
  return cost;
}

bool BatchDraft::is_empty() const {
  return batch_.passes.empty() && batch_.distributions.empty() && batch_.loads.empty() &&
         batch_.copies.empty() && batch_.saves.empty();
}

}  // namespace quire::control
