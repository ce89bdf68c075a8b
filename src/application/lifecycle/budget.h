#pragma once
// Budget is what an instance may use with its children, and what it lends them. Plain arithmetic.
//
// A child that is launched with a share gets that percentage of what its parent has left, and while
// the child lives, its parent has so much less. A child that is launched without one draws on the
// budget of its parent, with all other such children:
//   - A guest takes memory, HTTP calls and exchanges while it runs: as much as its parent has left.
//     They are charged to the parent, and to the instance on whose budget the parent itself draws,
//     as soon as the guest has run.
//   - The engine takes pages, tokens, and room for results and arguments later. These have equal
//     parts: the parent and these children each have what they use, and an equal part of what none
//     of them uses. The parts are divided anew with each launch, and when an instance has used half
//     of its part (child_budgets.cc).
// Processor time and places of children are never lent. They are charged to all ancestors as they
// are used, so that a parent which lent everything can still wait, and a child without children
// takes one place. So a tree of instances never holds or uses more than its root may.
//
// A parent must also be able to ask for something and to receive from its children. So the last
// part of its room for results and arguments (1 / kKeptPart of its limit) is not lent.
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
// The amounts that children without a share have in equal parts; all others are 0.
Budget divided_part(const Budget& all);
Budget minimum(const Budget& one, const Budget& other);  // Of each amount.
void set_divided(InstanceLimits& limits, const Budget& all);

// The needs of a child at its launch.
struct ChildWish {
  std::uint32_t share_percent = 0;       // 1 to 100; 0: it draws on its parent's budget.
  std::uint64_t first_memory_bytes = 0;  // Of its module; 0: not yet known.
};
struct ChildBudget {
  Budget lent;            // What the parent has no more while the child lives.
  InstanceLimits limits;  // The child's.
};
// A parent keeps the `kKeptPart`th part of its own held_result_bytes_max and pending_bytes_max.
inline constexpr std::uint64_t kKeptPart = 16;
// The budget of a child, out of what is `left` of the parent's. For a child without a share it has
// no divided amounts yet. QuotaExceeded: too little is left, with the limit and the flag that
// raises it.
Result<ChildBudget> child_budget(const InstanceLimits& parent, const Budget& left,
                                 const ChildWish& wish);
// The equal part of each of `count` instances and of the parent, whose whole budget is `all`, in
// what is `unused` of it.
Budget equal_part(const Budget& all, Budget unused, std::size_t count);

}  // namespace quire::lifecycle
