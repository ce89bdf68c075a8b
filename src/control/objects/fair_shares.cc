#include "control/objects/fair_shares.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace quire::control {

FairShare& FairShares::join(TenantId tenant, double weight) {
  const auto key = static_cast<std::uint32_t>(tenant);
  auto found = shares_.find(key);
  if (found == shares_.end()) {
    if (shares_.size() >= sweep_beyond_) sweep();
    found = shares_.emplace(key, FairShare{.tenant = tenant}).first;
    found->second.time = time_;
  }
  found->second.weight = weight;
  if (found->second.instance_count++ == 0) ++active_count_;
  return found->second;
}

// A tenant that leaves with more than its share is kept, so that it comes back with that.
void FairShares::leave(FairShare& share) {
  QUIRE_CHECK(share.instance_count > 0, "F2");
  if (--share.instance_count > 0) return;
  --active_count_;
  QUIRE_CHECK(share.output_count == 0, "F3");
  if (share.time > time_) return;
  shares_.erase(static_cast<std::uint32_t>(share.tenant));
}

void FairShares::sweep() {
  std::erase_if(shares_, [this](const auto& entry) {
    return entry.second.instance_count == 0 && entry.second.time <= time_;
  });
  sweep_beyond_ = std::max<std::size_t>(64, 2 * shares_.size());
}

void FairShares::set_weight(TenantId tenant, double weight) {
  const auto found = shares_.find(static_cast<std::uint32_t>(tenant));
  if (found != shares_.end()) found->second.weight = weight;
}

void FairShares::enter(FairShare& share) {
  const double debt_max = std::max(kDebtBatchCount * batch_rows_ / share.weight, share.charged);
  share.time = std::min(share.time, time_ + debt_max);
  const bool has_waited_all_along = share.waiting_round + 1 == round_;
  if (!has_waited_all_along) {
    share.time = std::max(share.time, time_ - kCreditBatchCount * batch_rows_ / share.weight);
  }
}

void FairShares::charge(FairShare& share, double row_count) {
  if (share.charged_round != round_) share.charged = 0;
  share.charged_round = round_;
  share.charged += row_count / share.weight;
  share.time += row_count / share.weight;
}

void FairShares::end_round(double least_waiting, double most_served, bool has_waiting) {
  time_ = std::max(time_, has_waiting ? least_waiting : most_served);
}

void FairShares::verify() const {
  std::size_t active_count = 0;
  for (const auto& [key, share] : shares_) {
    active_count += share.instance_count > 0;
    QUIRE_CHECK(key == static_cast<std::uint32_t>(share.tenant), "F2");
    QUIRE_CHECK(std::isfinite(share.time) && share.time >= 0 && share.weight > 0, "F1");
    QUIRE_CHECK(share.instance_count > 0 || share.output_count == 0, "F3");
  }
  QUIRE_CHECK(active_count == active_count_, "F2");
}

}  // namespace quire::control
