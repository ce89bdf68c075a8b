#pragma once
// TenantShares divides a limited number of things among tenants that do not know of one another:
// each may have as much as it leaves for the others. So one tenant alone gets half of them, two
// that want all get a third each, and the next tenant finds some. A part that was fixed beforehand
// would be too small for one, or too large for many. If no other tenant is known (set_several), the
// one may have all; an operator may give a tenant another share (set_share).
//
// Thread   engine thread only.
#include <algorithm>
#include <cstdint>
#include <map>

#include "base/check.h"
#include "control/api/types.h"

namespace quire::control {

class TenantShares {
 public:
  explicit TenantShares(std::uint64_t count_max) : count_max_(count_max) {}

  // How much the tenant may have in all at present. `gone`: the number that no tenant took and that
  // cannot be taken either.
  std::uint64_t share_of(TenantId tenant, std::uint64_t gone = 0) const {
    const std::uint64_t taken = gone + (count_ - count_of(tenant));
    const std::uint64_t left_by_others = count_max_ - std::min(count_max_, taken);
    const auto given = shares_.find(tenant);
    if (given != shares_.end()) return std::min(given->second, left_by_others);
    return are_several_ ? left_by_others / 2 : left_by_others;
  }
  // Whether more than one tenant is known; true until this is called.
  void set_several(bool are_several) { are_several_ = are_several; }
  // The operator's word: the tenant may have so much, if the others leave it.
  void set_share(TenantId tenant, std::uint64_t count) { shares_[tenant] = count; }
  // More than the operator gives the tenant, whatever the others leave.
  bool is_beyond_given(TenantId tenant, std::uint64_t count) const {
    const auto given = shares_.find(tenant);
    return given != shares_.end() && count > given->second;
  }
  // True for a count of 0, even if the tenant's share has become less than what it has.
  bool may_take(TenantId tenant, std::uint64_t count) const {
    return count == 0 || count_of(tenant) + count <= share_of(tenant);
  }
  std::uint64_t count_of(TenantId tenant) const {
    const auto found = counts_.find(tenant);
    return found == counts_.end() ? 0 : found->second;
  }
  // The count of each tenant that has any.
  const std::map<TenantId, std::uint64_t>& counts() const { return counts_; }
  std::uint64_t count() const { return count_; }
  std::uint64_t count_max() const { return count_max_; }
  bool operator==(const TenantShares&) const = default;

  // Requires: may_take().
  void take(TenantId tenant, std::uint64_t count) {
    if (count == 0) return;
    counts_[tenant] += count;
    count_ += count;
    QUIRE_CHECK(count_ <= count_max_, "took what is not there");
  }
  void give(TenantId tenant, std::uint64_t count) {
    if (count == 0) return;
    const auto found = counts_.find(tenant);
    QUIRE_CHECK(found != counts_.end() && found->second >= count, "gave what it has not");
    count_ -= count;
    if ((found->second -= count) == 0) counts_.erase(found);
  }

 private:
  std::uint64_t count_max_;
  std::uint64_t count_ = 0;
  bool are_several_ = true;
  std::map<TenantId, std::uint64_t> counts_;
  std::map<TenantId, std::uint64_t> shares_;  // Of those that the operator gave one.
};

}  // namespace quire::control
