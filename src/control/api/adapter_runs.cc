#include "control/api/adapter_runs.h"

#include <cmath>
#include <string>

namespace quire::control {
namespace {

Error invalid(const std::string& what) {
  return Error(ErrorCode::InvalidArgument, what);
}

}  // namespace

Result<void> check_adapter_set(std::span<const ScaledAdapter> set) {
  if (set.size() > kAdaptersInSetMax) {
    return invalid(std::to_string(set.size()) + " adapters at once; at most " +
                   std::to_string(kAdaptersInSetMax));
  }
  for (std::size_t index = 0; index < set.size(); ++index) {
    if (!std::isfinite(set[index].scale) || set[index].scale == 0.0f) {
      return invalid("the scale of adapter " + hex(set[index].digest) + " is " +
                     std::to_string(set[index].scale) + "; it must be finite and not zero");
    }
    if (index > 0 && set[index - 1].digest >= set[index].digest) {
      return invalid("adapter " + hex(set[index].digest) + " is there twice or out of order");
    }
  }
  return {};
}

Result<void> check_adapter_runs(std::span<const AdapterRun> runs, std::uint64_t slot_count) {
  for (std::size_t index = 0; index < runs.size(); ++index) {
    TRY(check_adapter_set(runs[index].set));
    if (runs[index].first_slot >= slot_count) {
      return invalid("adapters from slot " + std::to_string(runs[index].first_slot) + " of " +
                     std::to_string(slot_count));
    }
    const bool is_needed = index == 0 ? !runs[0].set.empty()
                                      : runs[index].set != runs[index - 1].set &&
                                            runs[index].first_slot > runs[index - 1].first_slot;
    if (!is_needed) {
      return invalid("the adapters from slot " + std::to_string(runs[index].first_slot) +
                     " on are those before it, or out of order");
    }
  }
  return {};
}

}  // namespace quire::control
