#pragma once
// Counts and times of all instances since the server began: how they ended, and how long they waited,
// ran and took to their first token. The manager counts, and a server's metrics show it.
//
// Thread   engine thread only; readers get copies.
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "base/histogram.h"
#include "service/end.h"

namespace quire::lifecycle {

// How an instance ended. A program that finished with an exit code other than 0 failed.
enum class Outcome : std::uint8_t {
  Finished,
  Failed,
  Trapped,
  LimitExceeded,
  Killed,
  NotStarted,
};
inline constexpr const char* kOutcomeNames[] = {"finished",       "failed", "trapped",
                                                "limit_exceeded", "killed", "not_started"};
inline constexpr std::size_t kOutcomeCount = std::size(kOutcomeNames);
static_assert(static_cast<std::size_t>(Outcome::NotStarted) + 1 == kOutcomeCount);

inline Outcome outcome_of(const service::End& end) {
  switch (end.kind) {
    case service::EndKind::Finished:
      return end.exit_code == 0 ? Outcome::Finished : Outcome::Failed;
    case service::EndKind::Trapped:
      return Outcome::Trapped;
    case service::EndKind::LimitExceeded:
      return Outcome::LimitExceeded;
    case service::EndKind::Killed:
      return Outcome::Killed;
    case service::EndKind::NotStarted:
      return Outcome::NotStarted;
  }
  return Outcome::Failed;
}

struct RunFigures {
  std::array<std::uint64_t, kOutcomeCount> ended_counts{};  // By Outcome.
  Histogram queue_ns;                                       // From the launch to the start.
  Histogram first_token_ns;  // From the launch to the first token, of instances that had one.
  Histogram run_ns;          // From the launch to the end.
};

}  // namespace quire::lifecycle
