#pragma once
// Admission says whether a launch comes in, has to wait, or is refused and when to try again.
//
// A launch that comes in waits until there is a place for it, and holds the place until its last
// word was taken. Places and those who wait for one are bounded. A child does not wait: its parent
// may be what holds the place, and a server full of parents would wait for ever.
//
// Thread   that of its owner. Reads no clock.
// Errors   Unavailable, with the bounds, how much of each is used, and when to try again.
//
// Invariants, checked by verify():
//   A1  At most instance_count_max + waiting_launch_count_max are in.
#include <cstdint>
#include <deque>

#include "base/result.h"

namespace quire::lifecycle {

struct AdmissionLimits {
  // Instances that have begun to start, until their last word was taken; never more than the
  // runtime has slots.
  std::uint32_t instance_count_max = 1u << 20;
  // Launches that wait for one of them to go, or for their program to be compiled.
  std::uint32_t waiting_launch_count_max = 1u << 16;

  std::uint64_t total() const {
    return std::uint64_t{instance_count_max} + waiting_launch_count_max;
  }
};

class Admission {
 public:
  explicit Admission(const AdmissionLimits& limits) : limits_(limits) {}

  enum class Wait : std::uint8_t { May, MustNot };
  // A launch comes in, and waits from here on.
  Result<void> admit(Wait wait, std::uint64_t now_ns);
  // Whether one that waits may start.
  bool has_place() const { return instance_count_ < limits_.instance_count_max; }
  // One that waited does no more: it starts, or it ended before it could.
  void begin();
  // The last word of one that had begun was taken.
  void leave(std::uint64_t now_ns);

  // The same launch may succeed then: a guess from how often one left of late.
  std::uint64_t retry_after_ms(std::uint64_t now_ns) const;

  const AdmissionLimits& limits() const { return limits_; }
  std::uint64_t instance_count() const { return instance_count_; }
  std::uint64_t waiting_count() const { return waiting_count_; }
  void verify() const;

 private:
  const AdmissionLimits limits_;
  std::uint64_t instance_count_ = 0;
  std::uint64_t waiting_count_ = 0;
  std::deque<std::uint64_t> left_ns_;  // When the latest left.
};

}  // namespace quire::lifecycle
