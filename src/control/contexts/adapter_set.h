#pragma once
// AdapterSet: adapters that act together, with the weights that the device computes with.
//
// Made once, then shared by all that were appended under it; who holds it keeps the weights.
//
// Thread   any; const.
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "control/api/adapter_runs.h"
#include "inference/api/adapter.h"

namespace quire::control {

// A loaded adapter as a program chose it.
struct ChosenAdapter {
  std::string name;  // For reports only.
  std::shared_ptr<const inference::Adapter> adapter;
  float scale = 1.0f;
};

struct AdapterSet {
  std::vector<ScaledAdapter> set;  // As check_adapter_set() wants it; not empty.
  std::vector<std::string> names;  // In the order of `set`.
  inference::AdapterSet weights;
};

// The adapters of a context: the set of each logical slot, and that of tokens to come.
struct ContextAdapters {
  SlotAdapters<AdapterSetRef> of_slots;
  AdapterSetRef in_force;
};

// Null where all scales are zero, which is absence. InvalidArgument for one adapter twice, a scale
// that is not finite, or more than kAdaptersInSetMax.
Result<AdapterSetRef> make_adapter_set(std::vector<ChosenAdapter> chosen);

}  // namespace quire::control
