#pragma once
// FirstRuns counts how long instances of one program, launched by clients of one tenant, ran until
// each first waited or ended, while the device worked. They may take a tenth of the time at once,
// and save up a tenth of a second for many that come together. Beyond that they begin in the
// background. So a client that launches a program again and again, each time for less than a slice,
// gets no more of the engine than a program that computes. (A leaky bucket: Turner, "New Directions
// in Communications", 1986.)
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
