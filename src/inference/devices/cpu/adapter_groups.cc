#include "inference/devices/cpu/adapter_groups.h"

#include <algorithm>

namespace quire::inference {

void AdapterGroups::fill(const Batch& batch, const std::vector<std::uint32_t>& plan_row_of,
                         ForwardPlan& plan) {
  plan.adapters.clear();
  if (batch.adapter_sets.empty()) return;
  const auto digest_of = [](const AdapterRows& rows) -> const Digest& {
    return rows.adapter->digest();
  };
  std::vector<AdapterRows>& groups = plan.adapters;
  for (const AdapterSet& set : batch.adapter_sets) {
    for (const AdapterUse& use : *set) {
      const auto place = std::ranges::lower_bound(groups, use.adapter->digest(), {}, digest_of);
      if (place != groups.end() && digest_of(*place) == use.adapter->digest()) continue;
      groups.insert(place, {.adapter = use.adapter.get()});
    }
  }
  for (std::size_t i = 0; i < batch.rows.size(); ++i) {
    if (batch.rows[i].adapters == kNoAdapters || plan_row_of[i] == kNoSlot) continue;
    for (const AdapterUse& use : *batch.adapter_sets[batch.rows[i].adapters]) {
      AdapterRows& group = *std::ranges::lower_bound(groups, use.adapter->digest(), {}, digest_of);
      group.rows.push_back(plan_row_of[i]);
      group.scales.push_back(use.scale);
    }
  }
  std::erase_if(groups, [](const AdapterRows& group) { return group.rows.empty(); });
  std::size_t count = 0;
  for (const AdapterRows& group : groups) count += group.temporary_count();
  temporaries_.resize(count);
  float* at = temporaries_.data();
  for (AdapterRows& group : groups) {
    group.temporary = at;
    at += group.temporary_count();
  }
}

}  // namespace quire::inference
