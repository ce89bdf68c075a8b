#pragma once
// The search on the tiers for pages that a context's queued tokens will use.
#include <cstdint>
#include <vector>

#include "control/contexts/context.h"

namespace quire::control {

// The pages of its next queued tokens that have no bytes in the pool and have some on a tier, in a
// row from the first on, at most `page_count_max`. Requires: find_queued() found no more.
std::vector<NodeId> find_on_tiers(const Context& context, std::uint32_t page_count_max);

}  // namespace quire::control
