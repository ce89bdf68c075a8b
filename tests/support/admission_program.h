#pragma once
// Random launches, starts and ends on Admission, beside two lists: who waits, and who is there.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
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
        tenant_count_(1 + static_cast<std::uint32_t>(random_() % 3)) {
    admission_.set_several(tenant_count_ > 1);
    if (random_() % 4 != 0) return;
    given_share_ = random_() % 6;
    admission_.set_share(TenantId{0}, *given_share_);
  }

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
      for (std::uint32_t each = 0; each < tenant_count_; ++each) {
        EXPECT_EQ(admission_.waiting_count(TenantId{each}), count_of(waiting_, TenantId{each}));
        EXPECT_EQ(admission_.instance_count(TenantId{each}), count_of(there_, TenantId{each}));
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
  static std::size_t count_of(const std::vector<TenantId>& list, TenantId tenant) {
    return static_cast<std::size_t>(std::count(list.begin(), list.end(), tenant));
  }
  // The share is what the others leave, or half of it if there are any; one at least.
  std::size_t share(std::size_t left) const {
    return std::max<std::size_t>(tenant_count_ > 1 ? left / 2 : left, 1);
  }
  // How many places the tenant may hold.
  std::size_t place_share(TenantId tenant) const {
    const std::size_t others = there_.size() - count_of(there_, tenant);
    const std::size_t places = admission_.limits().instance_count_max;
    const std::size_t left = places - std::min(places, others);
    if (tenant == TenantId{0} && given_share_) {
      return std::max<std::size_t>(std::min<std::size_t>(*given_share_, left), 1);
    }
    return share(left);
  }

  void launch() {
    const lifecycle::AdmissionLimits& limits = admission_.limits();
    const Wait wait = random_() % 4 == 0 ? Wait::MustNot : Wait::May;
    const TenantId tenant{static_cast<std::uint32_t>(random_() % tenant_count_)};
    const std::size_t count = waiting_.size() + there_.size();
    const std::size_t own = count_of(waiting_, tenant);
    std::size_t taken = there_.size();
    for (std::uint32_t each = 0; each < tenant_count_; ++each) {
      const std::size_t its_share = place_share(TenantId{each});
      const std::size_t has = count_of(there_, TenantId{each});
      taken += std::min(count_of(waiting_, TenantId{each}), its_share - std::min(its_share, has));
    }
    const bool finds_place = count < limits.total() && taken < limits.instance_count_max &&
                             count_of(there_, tenant) + own < place_share(tenant);
    const bool may_wait = wait == Wait::May && limits.waiting_launch_count_max > 0 &&
                          count < limits.total() && own < share(limits.total() - count + own);
    const Result<void> admitted = admission_.admit({tenant, wait}, now_ns_);
    ASSERT_EQ(admitted.ok(), finds_place || may_wait);
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
    EXPECT_EQ(text.starts_with(whose), tenant_count_ > 1) << text;
  }
  void begin() {
    if (waiting_.empty()) return;
    const TenantId tenant = waiting_.front();
    const bool has_place = there_.size() < admission_.limits().instance_count_max &&
                           count_of(there_, tenant) < place_share(tenant);
    EXPECT_EQ(admission_.has_place(tenant), has_place);
    std::rotate(waiting_.begin(), waiting_.begin() + 1, waiting_.end());
    if (!has_place) return;
    admission_.begin(tenant);
    there_.push_back(tenant);
    waiting_.pop_back();
  }
  void leave() {
    if (there_.empty()) return;
    std::swap(there_[random_() % there_.size()], there_.back());
    admission_.leave(there_.back(), now_ns_);
    there_.pop_back();
  }

  std::mt19937_64 random_;
  lifecycle::Admission admission_;
  const std::uint32_t tenant_count_;
  std::vector<TenantId> waiting_;
  std::vector<TenantId> there_;
  std::optional<std::uint64_t> given_share_;  // The operator's word on tenant 0.
  std::uint64_t now_ns_ = 0;
};

}  // namespace quire::test
