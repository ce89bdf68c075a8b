#pragma once
// For tests: a time of day that a test sets while a server runs.
#include <atomic>
#include <cstdint>

#include "base/clock.h"

namespace quire::server {

class SettableWallClock final : public WallClock {
 public:
  std::uint64_t now_unix_ms() const override { return now_unix_ms_; }
  void set_unix_s(std::uint64_t to) { now_unix_ms_ = to * 1000; }

 private:
  std::atomic<std::uint64_t> now_unix_ms_{0};
};

}  // namespace quire::server
