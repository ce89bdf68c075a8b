#include "control/contexts/chosen_adapters.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace quire::control {

std::vector<AdapterRun> adapter_runs(const SlotAdapters& slots, std::uint32_t begin,
                                     std::uint32_t end) {
  std::vector<AdapterRun> runs;
  slots.each(begin, end, [&](std::uint32_t first, const ChosenAdaptersRef& set) {
    if (set != nullptr) {
      runs.push_back({first - begin, set->set});
    } else if (!runs.empty()) {  // A page begins with the base model if nothing else is written.
      runs.push_back({first - begin, {}});
    }
  });
  return runs;
}

double adapter_cost(const ChosenAdaptersRef& set, double model_number_count) {
  if (set == nullptr) return 0;
  double bytes = 0;
  for (const inference::AdapterUse& each : *set->weights) {
    bytes += static_cast<double>(each.adapter->bytes());
  }
  return std::min(bytes / model_number_count, kAdapterCostMax);
}

Result<ChosenAdaptersRef> make_chosen_adapters(std::vector<ChosenAdapter> chosen) {
  for (const ChosenAdapter& each : chosen) {
    if (std::isfinite(each.scale)) continue;
    return Error(ErrorCode::InvalidArgument, "the scale of adapter \"" + each.name + "\" is " +
                                                 std::to_string(each.scale) +
                                                 "; it must be a finite number");
  }
  std::stable_sort(chosen.begin(), chosen.end(),
                   [](const ChosenAdapter& one, const ChosenAdapter& other) {
                     return one.adapter->digest() < other.adapter->digest();
                   });
  for (std::size_t index = 1; index < chosen.size(); ++index) {
    if (chosen[index - 1].adapter->digest() != chosen[index].adapter->digest()) continue;
    const std::string& one = chosen[index - 1].name;
    const std::string& other = chosen[index].name;
    return Error(ErrorCode::InvalidArgument, one == other
                                                 ? "adapter \"" + one + "\" is given twice"
                                                 : "adapters \"" + one + "\" and \"" + other +
                                                       "\" are one adapter under two names");
  }
  std::erase_if(chosen, [](const ChosenAdapter& each) { return each.scale == 0.0f; });
  if (chosen.empty()) return ChosenAdaptersRef{};
  auto made = std::make_shared<ChosenAdapters>();
  auto weights = std::make_shared<std::vector<inference::AdapterUse>>();
  for (ChosenAdapter& each : chosen) {
    made->set.push_back({each.adapter->digest(), each.scale});
    made->names.push_back(std::move(each.name));
    weights->push_back({std::move(each.adapter), each.scale});
  }
  TRY(check_adapter_set(made->set));
  made->weights = std::move(weights);
  return ChosenAdaptersRef(std::move(made));
}

}  // namespace quire::control
