#pragma once
// Random launches, starts and ends on Admission, beside two sets: who waits, and who is there.
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <set>

#include "application/lifecycle/admission.h"

namespace quire::test {

class AdmissionProgram {
 public:
  explicit AdmissionProgram(std::uint64_t seed) : random_(seed), admission_(limits_of(random_)) {}

  void run() {
    for (int step = 0; step < 300 && !testing::Test::HasFailure(); ++step) {
      now_ns_ += random_() % 50'000'000;
      switch (random_() % 4) {
        case 0:
        case 1:
          launch();
          break;
        case 2:
          begin();
          break;
        default:
          leave();
          break;
      }
      admission_.verify();
      EXPECT_EQ(admission_.waiting_count(), waiting_.size());
      EXPECT_EQ(admission_.instance_count(), there_.size());
    }
  }

 private:
  using Wait = lifecycle::Admission::Wait;

  static lifecycle::AdmissionLimits limits_of(std::mt19937_64& random) {
    return {.instance_count_max = 1 + static_cast<std::uint32_t>(random() % 5),
            .waiting_launch_count_max = static_cast<std::uint32_t>(random() % 4)};
  }

  void launch() {
    const lifecycle::AdmissionLimits& limits = admission_.limits();
    const Wait wait = random_() % 4 == 0 ? Wait::MustNot : Wait::May;
    const std::size_t room =
        limits.instance_count_max + (wait == Wait::May ? limits.waiting_launch_count_max : 0);
    const Result<void> admitted = admission_.admit(wait, now_ns_);
    ASSERT_EQ(admitted.ok(), waiting_.size() + there_.size() < room);
    if (admitted.ok()) {
      waiting_.insert(++next_);
      return;
    }
    EXPECT_EQ(admitted.error().code(), ErrorCode::Unavailable);
    const std::string text(admitted.error().message());
    EXPECT_NE(text.find("try again in " + std::to_string(admission_.retry_after_ms(now_ns_))),
              std::string::npos)
        << text;
  }
  void begin() {
    EXPECT_EQ(admission_.has_place(), there_.size() < admission_.limits().instance_count_max);
    if (waiting_.empty() || !admission_.has_place()) return;
    admission_.begin();
    there_.insert(*waiting_.begin());
    waiting_.erase(waiting_.begin());
  }
  void leave() {
    if (there_.empty()) return;
    admission_.leave(now_ns_);
    there_.erase(there_.begin());
  }

  std::mt19937_64 random_;
  lifecycle::Admission admission_;
  std::set<int> waiting_;
  std::set<int> there_;
  int next_ = 0;
  std::uint64_t now_ns_ = 0;
};

}  // namespace quire::test
