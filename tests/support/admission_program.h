#pragma once
// Random launches, starts and ends on Admission, beside two lists: who waits, and who is there.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "application/lifecycle/admission.h"

namespace quire::test {

class AdmissionProgram {
 public:
  explicit AdmissionProgram(std::uint64_t seed)
      : random_(seed),
        admission_(limits_of(random_)),
        tenant_count_(1 + static_cast<std::uint32_t>(random_() % 3)) {}

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
      EXPECT_EQ(admission_.instance_count(), there_count_);
      for (std::uint32_t each = 0; each < tenant_count_; ++each) {
        EXPECT_EQ(admission_.waiting_count(TenantId{each}), waiting_count(TenantId{each}));
      }
    }
  }

 private:
  using Wait = lifecycle::Admission::Wait;
  using TenantId = control::TenantId;

  static lifecycle::AdmissionLimits limits_of(std::mt19937_64& random) {
    return {.instance_count_max = 1 + static_cast<std::uint32_t>(random() % 5),
            .waiting_launch_count_max = static_cast<std::uint32_t>(random() % 12)};
  }
  std::size_t waiting_count(TenantId tenant) const {
    return static_cast<std::size_t>(std::count(waiting_.begin(), waiting_.end(), tenant));
  }

  void launch() {
    const lifecycle::AdmissionLimits& limits = admission_.limits();
    const Wait wait = random_() % 4 == 0 ? Wait::MustNot : Wait::May;
    const TenantId tenant{static_cast<std::uint32_t>(random_() % tenant_count_)};
    const std::size_t count = waiting_.size() + there_count_;
    const std::size_t room =
        limits.instance_count_max + (wait == Wait::May ? limits.waiting_launch_count_max : 0);
    // Beyond the places each has at most as many as it leaves, and may have one.
    const std::size_t own = waiting_count(tenant);
    const bool has_share = tenant_count_ == 1 || count < limits.instance_count_max || own == 0 ||
                           2 * (own + 1) <= limits.total() - count + own;
    const Result<void> admitted =
        admission_.admit({tenant, wait, /*is_only_tenant=*/tenant_count_ == 1}, now_ns_);
    ASSERT_EQ(admitted.ok(), count < room && has_share);
    if (admitted.ok()) {
      waiting_.push_back(tenant);
      return;
    }
    EXPECT_EQ(admitted.error().code(), ErrorCode::Unavailable);
    const std::string text(admitted.error().message());
    EXPECT_NE(text.find("try again in " + std::to_string(admission_.retry_after_ms(now_ns_))),
              std::string::npos)
        << text;
    const std::string whose = "tenant " + std::to_string(static_cast<std::uint32_t>(tenant)) + ": ";
    EXPECT_EQ(text.starts_with(whose), count < room) << text;
  }
  void begin() {
    EXPECT_EQ(admission_.has_place(), there_count_ < admission_.limits().instance_count_max);
    if (waiting_.empty() || !admission_.has_place()) return;
    admission_.begin(waiting_.front());
    ++there_count_;
    waiting_.erase(waiting_.begin());
  }
  void leave() {
    if (there_count_ == 0) return;
    admission_.leave(now_ns_);
    --there_count_;
  }

  std::mt19937_64 random_;
  lifecycle::Admission admission_;
  const std::uint32_t tenant_count_;
  std::vector<TenantId> waiting_;
  std::size_t there_count_ = 0;
  std::uint64_t now_ns_ = 0;
};

}  // namespace quire::test
