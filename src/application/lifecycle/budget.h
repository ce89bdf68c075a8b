#pragma once
// Budget is what an instance may use with its children, and what it lends them. Plain arithmetic.
//
// A child gets a share of what its parent has left, and while it lives its parent has so much less.
// So a tree of instances never holds or uses more than its root may. Processor time is not lent:
// all ancestors are charged for it as it is used, so that a parent which lent everything can still
// wait. A parent must also be able to ask for something and to receive from its children. So the
// last part of its room for results and arguments (1 / kKeptPart of its limit) is not lent.
#include <cstdint>
#include <string>

#include "application/lifecycle/launch.h"
#include "base/result.h"

namespace quire::lifecycle {

struct Budget {
  std::uint64_t memory_bytes = 0;  // Of children and theirs.
  std::uint64_t cpu_ns = 0;
  std::uint64_t token_count = 0;
  std::uint32_t page_count = 0;
  std::uint32_t child_count = 0;  // At once, with theirs.
  std::uint32_t http_call_count = 0;
  std::uint32_t http_exchange_count = 0;  // At once.
  std::uint64_t held_result_bytes = 0;    // At once, and these.
  std::uint64_t pending_bytes = 0;

  Budget& operator+=(const Budget& more);
  Budget& operator-=(const Budget& less);  // Stops at 0.
  bool operator==(const Budget&) const = default;
};

// All that the limits allow.
Budget budget_of(const InstanceLimits& limits);

struct ChildBudget {
  Budget lent;            // What the parent has no more while the child lives.
  InstanceLimits limits;  // The child's.
};
// A parent keeps the `kKeptPart`th part of its own held_result_bytes_max and pending_bytes_max.
inline constexpr std::uint64_t kKeptPart = 16;
// `percent` (1 to 100) of what is `left` of the parent's budget. QuotaExceeded: it is too little.
Result<ChildBudget> child_budget(const InstanceLimits& parent, const Budget& left,
                                 std::uint32_t percent);

}  // namespace quire::lifecycle
