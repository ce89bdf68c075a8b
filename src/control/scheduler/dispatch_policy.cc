#include "control/scheduler/dispatch_policy.h"

#include <limits>

#include "base/check.h"

namespace quire::control {

DispatchTimer::DispatchTimer(const DispatchPolicy& policy) : policy_(policy) {
  QUIRE_CHECK(policy.kind != DispatchKind::KOnly || policy.command_count > 0, "k-only of nothing");
  QUIRE_CHECK(policy.kind != DispatchKind::TOnly || policy.period_ns > 0, "t-only without a time");
}

std::uint32_t DispatchTimer::command_count_max() const {
  switch (policy_.kind) {
    case DispatchKind::Eager:
      return 1;
    case DispatchKind::KOnly:
      return policy_.command_count;
    case DispatchKind::Adaptive:
    case DispatchKind::TOnly:
      break;
  }
  return std::numeric_limits<std::uint32_t>::max();
}

// Returns the next tick of the policy's clock. Ticks that passed while the device was busy are
// skipped.
std::uint64_t DispatchTimer::next_due_ns(std::uint64_t now_ns) const {
  if (policy_.kind == DispatchKind::KOnly) return now_ns + kCountWaitNsMax;
  return (now_ns + policy_.period_ns - 1) / policy_.period_ns * policy_.period_ns;
}

bool DispatchTimer::is_due(std::size_t ready_count, std::uint64_t now_ns) {
  switch (policy_.kind) {
    case DispatchKind::Adaptive:
    case DispatchKind::Eager:
      return true;
    case DispatchKind::KOnly:
      if (ready_count >= policy_.command_count) return true;
      break;
    case DispatchKind::TOnly:
      break;
  }
  if (!due_ns_) due_ns_ = next_due_ns(now_ns);
  return now_ns >= *due_ns_;
}

}  // namespace quire::control
