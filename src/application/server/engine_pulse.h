#pragma once
// EnginePulse finds whether the engine still turns, for a probe of the server's health. The engine
// notes the time of each turn of its loop, and it turns at least once a second. The engine stands
// if two probes in a row find no turn within the limit. One probe alone may come right after the
// whole process was stopped and went on.
//
// Thread   one. A plain value, one for each series of probes.
#include <algorithm>
#include <cstdint>

#include "application/server/server_limits.h"
#include "base/clock.h"

namespace quire::server {

// Beyond the longest time that a program may run without waiting.
inline constexpr std::uint64_t kEngineMarginNs = 10 * kSecond;

// How long the engine may take for a turn, by the limits of all that may be launched.
inline std::uint64_t engine_turn_ns_max(const ServiceLimits& limits) {
  std::uint64_t most_ns = limits.instance.cpu_ns_between_waits_max;
  for (const auto& [tenant, each] : limits.tenant_instances) {
    most_ns = std::max(most_ns, each.cpu_ns_between_waits_max);
  }
  return most_ns > UINT64_MAX - kEngineMarginNs ? UINT64_MAX : most_ns + kEngineMarginNs;
}

class EnginePulse {
 public:
  // A probe at `now_ns`, when the last turn was at `turn_ns`: whether the engine stands.
  bool finds_stalled(std::uint64_t turn_ns, std::uint64_t now_ns, std::uint64_t turn_ns_max) {
    const bool is_late = now_ns > turn_ns && now_ns - turn_ns > turn_ns_max;
    if (!is_late) late_count_ = 0;
    if (is_late && late_count_ < kLateCountMax) ++late_count_;
    return late_count_ == kLateCountMax;
  }

 private:
  static constexpr std::uint32_t kLateCountMax = 2;
  std::uint32_t late_count_ = 0;  // Probes in a row.
};

}  // namespace quire::server
