#pragma once
// A DispatchPolicy decides when a batch is built of the ready commands, and of how many.
//
// A command is ready when it waits for no other one. Operations issued after a command join its
// batch without being counted (embed, forward and sample are one step), except under Eager. The
// scheduler asks only while the device is free. What it must move for itself (pages to and from
// tiers, snapshots) waits for no policy, and whatever is ready goes with it.
//
// Thread   that of its owner. Reads no clock: the time is passed in.
#include <cstddef>
#include <cstdint>
#include <optional>

namespace quire::control {

enum class DispatchKind : std::uint8_t {
  Adaptive,  // Whenever the device is free: all that is ready.
  Eager,     // Likewise, but each command by itself; the oldest waits least.
  KOnly,     // When `command_count` commands are ready: so many of them.
  TOnly,     // At the ticks of a clock of `period_ns` that find the device free: all that is ready.
};

struct DispatchPolicy {
  DispatchKind kind = DispatchKind::Adaptive;
  std::uint32_t command_count = 0;  // KOnly; at least 1.
  std::uint64_t period_ns = 0;      // TOnly; at least 1.
};

// Under KOnly fewer than `command_count` commands wait for more no longer than this while the
// device is free; then they go as they are. Under TOnly nothing that is ready waits longer than a
// period.
inline constexpr std::uint64_t kCountWaitNsMax = 50'000'000;

class DispatchTimer {
 public:
  explicit DispatchTimer(const DispatchPolicy& policy);

  // The device is free and `ready_count` commands are ready, at least one: whether to build now.
  bool is_due(std::size_t ready_count, std::uint64_t now_ns);
  // The time at which it will be due though nothing else becomes ready; empty: it is, or nothing
  // waited when it was last asked.
  std::optional<std::uint64_t> due_ns() const { return due_ns_; }
  // A batch was built, or nothing is ready any more.
  void reset() { due_ns_.reset(); }

  // Whether it has to know how many are ready.
  bool counts() const { return policy_.kind == DispatchKind::KOnly; }
  // A batch is of a few commands: then the oldest ones, whatever they are.
  bool takes_few() const { return counts() || policy_.kind == DispatchKind::Eager; }
  bool joins() const { return policy_.kind != DispatchKind::Eager; }
  std::uint32_t command_count_max() const;  // Of one batch.

 private:
  std::uint64_t next_due_ns(std::uint64_t now_ns) const;

  const DispatchPolicy policy_;
  std::optional<std::uint64_t> due_ns_;  // For what has waited since it was first asked.
};

}  // namespace quire::control
