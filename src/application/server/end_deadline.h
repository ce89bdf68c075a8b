#pragma once
// EndDeadline says when a server that got a signal to end has had its time. The process then ends
// without it: kEndMarginNs after the grace, kEndMarginNs after a second signal, and at once after a
// third one. A server that does not serve yet has no grace, because no program runs that needs one.
//
// Thread   one. A plain value.
#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/clock.h"

namespace quire::server {

inline constexpr std::uint64_t kEndMarginNs = 5 * kSecond;

class EndDeadline {
 public:
  // From here on programs run, which have so long to end.
  void set_grace(std::uint64_t grace_ns) { grace_ns_ = grace_ns; }
  void signaled(std::uint64_t now_ns) {
    ++signal_count_;
    const std::uint64_t margin_ns = signal_count_ > 2 ? 0 : kEndMarginNs;
    const std::uint64_t left_ns = signal_count_ > 1 ? margin_ns : after(grace_ns_, margin_ns);
    at_ns_ = std::min(at_ns_.value_or(UINT64_MAX), after(now_ns, left_ns));
  }
  std::uint32_t signal_count() const { return signal_count_; }
  // None: no signal came.
  std::optional<std::uint64_t> at_ns() const { return at_ns_; }

 private:
  // A grace may be as long as a number goes.
  static std::uint64_t after(std::uint64_t begin_ns, std::uint64_t length_ns) {
    return begin_ns > UINT64_MAX - length_ns ? UINT64_MAX : begin_ns + length_ns;
  }

  std::uint64_t grace_ns_ = 0;
  std::uint32_t signal_count_ = 0;
  std::optional<std::uint64_t> at_ns_;
};

}  // namespace quire::server
