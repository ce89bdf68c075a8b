#pragma once
// Time is passed in, so that a test or a simulation decides what time it is.
#include <time.h>

#include <chrono>
#include <cstdint>

#include "base/check.h"

namespace quire {

// In nanoseconds, as all times and durations are counted.
inline constexpr std::uint64_t kMillisecond = 1'000'000;
inline constexpr std::uint64_t kSecond = 1'000 * kMillisecond;

class Clock {
 public:
  virtual ~Clock() = default;
  // Monotonic nanoseconds from an arbitrary start. Any thread.
  virtual std::uint64_t now_ns() const = 0;
};

class SteadyClock final : public Clock {
 public:
  std::uint64_t now_ns() const override {
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                          std::chrono::steady_clock::now().time_since_epoch())
                                          .count());
  }
};

// Processor time of the calling thread, without that of other threads and processes.
class ThreadClock final : public Clock {
 public:
  std::uint64_t now_ns() const override {
    timespec now{};
    QUIRE_CHECK(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) == 0, "Linux has this clock");
    return static_cast<std::uint64_t>(now.tv_sec) * kSecond +
           static_cast<std::uint64_t>(now.tv_nsec);
  }
};

class ManualClock final : public Clock {
 public:
  std::uint64_t now_ns() const override { return now_ns_; }
  void advance_ns(std::uint64_t by) { now_ns_ += by; }

 private:
  std::uint64_t now_ns_ = 0;
};

// The time of day, for what must be understood after a restart. It may jump either way.
class WallClock {
 public:
  virtual ~WallClock() = default;
  // Milliseconds since 1970-01-01 UTC. Any thread.
  virtual std::uint64_t now_unix_ms() const = 0;
};

class SystemWallClock final : public WallClock {
 public:
  std::uint64_t now_unix_ms() const override {
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(
                                          std::chrono::system_clock::now().time_since_epoch())
                                          .count());
  }
};

class ManualWallClock final : public WallClock {
 public:
  std::uint64_t now_unix_ms() const override { return now_unix_ms_; }
  void set_unix_ms(std::uint64_t to) { now_unix_ms_ = to; }

 private:
  std::uint64_t now_unix_ms_ = 0;
};

}  // namespace quire
