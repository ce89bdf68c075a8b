#pragma once
// FirstRuns counts what instances of one program, which clients of one tenant launched, ran until
// each first waited or ended, while the device worked. A tenth of the time is theirs at once, and a
// tenth of a second is saved up for many that come together; beyond that they begin in the
// background. So whoever launches a program again and again, each time for less than a slice, has
// no more of the engine than one that computes has besides. (A leaky bucket: Turner, "New
// Directions in Communications", 1986.)
//
// Thread   that of its owner.
#include <algorithm>
#include <cstdint>

namespace quire::lifecycle {

class FirstRuns {
 public:
  static constexpr std::uint64_t kShare = 10;  // A tenth.
  static constexpr std::uint64_t kSavedNsMax = 100'000'000;

  // Beyond what is theirs.
  std::uint64_t over_ns(std::uint64_t now_ns) const {
    return std::max(owed_ns(now_ns), kSavedNsMax) - kSavedNsMax;
  }
  void charge(std::uint64_t now_ns, std::uint64_t ns) {
    owed_ns_ = owed_ns(now_ns) + ns;
    counted_ns_ = now_ns;
  }

 private:
  std::uint64_t owed_ns(std::uint64_t now_ns) const {
    return owed_ns_ - std::min(owed_ns_, (now_ns - counted_ns_) / kShare);
  }
  std::uint64_t owed_ns_ = 0;
  std::uint64_t counted_ns_ = 0;  // When it was so much.
};

}  // namespace quire::lifecycle
