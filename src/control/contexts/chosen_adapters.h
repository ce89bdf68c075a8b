#pragma once
// ChosenAdapters: adapters that act together, with the weights that the device computes with.
//
// Made once, then shared by all that were appended under it; who holds it keeps the weights.
//
// Thread   any; const.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "control/api/adapter_runs.h"
#include "control/contexts/slot_runs.h"
#include "inference/api/adapter.h"

namespace quire::control {

// A loaded adapter as a program chose it.
struct ChosenAdapter {
  std::string name;  // For reports only.
  std::shared_ptr<const inference::Adapter> adapter;
  float scale = 1.0f;
};

struct ChosenAdapters {
  std::vector<ScaledAdapter> set;  // As check_adapter_set() wants it; not empty.
  std::vector<std::string> names;  // In the order of `set`.
  inference::AdapterSet weights;
};

// The cost of a row under these adapters beyond that of a row of the model alone, in such rows: the
// adapters' bytes for each number of the model, at most kAdapterCostMax. Null: nothing.
inline constexpr double kAdapterCostMax = 16;
double adapter_cost(const ChosenAdaptersRef& set, double model_number_count);

// Whether two sets act alike, by whichever calls they were made.
struct SameAdapters {
  bool operator()(const ChosenAdaptersRef& one, const ChosenAdaptersRef& other) const {
    if (one == other) return true;
    return one != nullptr && other != nullptr && one->set == other->set;
  }
};
using SlotAdapters = SlotRuns<ChosenAdaptersRef, SameAdapters>;

// The adapters of a context: the set of each logical slot, and that of tokens to come.
struct ContextAdapters {
  SlotAdapters of_slots;
  ChosenAdaptersRef in_force;
};

// The sets of slots [begin, end), counted from `begin`: the form in which a page is named.
std::vector<AdapterRun> adapter_runs(const SlotAdapters& slots, std::uint32_t begin,
                                     std::uint32_t end);

// Null where all scales are zero, which is absence. InvalidArgument for one adapter twice, a scale
// that is not finite, or more than kAdaptersInSetMax.
Result<ChosenAdaptersRef> make_chosen_adapters(std::vector<ChosenAdapter> chosen);

}  // namespace quire::control
