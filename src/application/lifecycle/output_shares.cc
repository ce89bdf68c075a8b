#include "application/lifecycle/output_shares.h"

#include <algorithm>

#include "base/check.h"

namespace quire::lifecycle {
namespace {

constexpr std::uint64_t kSecondNs = 1'000'000'000;
constexpr std::uint64_t kStillOwedBytes = OutputShares::kOwedBytesMax - OutputShares::kPaidBytes;

}  // namespace

// Time in which less than a byte would be paid is kept for later.
void OutputShares::pay(std::uint64_t now_ns) {
  if (accounts_.empty()) {
    paid_until_ns_ = now_ns;
    return;
  }
  const std::uint64_t passed_ns = std::min(now_ns - paid_until_ns_, kSecondNs);
  const std::uint64_t each_bytes = passed_ns * kBytesPerSecond / kSecondNs / accounts_.size();
  if (each_bytes == 0) return;
  paid_until_ns_ = now_ns;
  for (auto at = accounts_.begin(); at != accounts_.end();) {
    Account& account = at->second;
    account.owed_bytes -= std::min(account.owed_bytes, each_bytes);
    at = account.owed_bytes == 0 ? accounts_.erase(at) : std::next(at);
  }
}

bool OutputShares::may_put_out(control::TenantId tenant, std::uint64_t now_ns) {
  pay(now_ns);
  const auto found = accounts_.find(tenant);
  if (found == accounts_.end()) return true;
  Account& account = found->second;
  account.waits = account.owed_bytes > (account.waits ? kStillOwedBytes : kOwedBytesMax);
  return !account.waits;
}

void OutputShares::charge(control::TenantId tenant, std::uint64_t bytes) {
  Account& account = accounts_[tenant];
  account.last_bytes = kEachBytes + bytes;
  account.owed_bytes += account.last_bytes;
}

std::uint64_t OutputShares::may_at_ns(control::TenantId tenant) const {
  const std::uint64_t owed_bytes = accounts_.at(tenant).owed_bytes;
  const std::uint64_t to_pay_bytes = owed_bytes - std::min(owed_bytes, kStillOwedBytes);
  return paid_until_ns_ +
         (to_pay_bytes * accounts_.size() * kSecondNs + kBytesPerSecond - 1) / kBytesPerSecond;
}

void OutputShares::verify() const {
  for (const auto& [tenant, account] : accounts_) {
    QUIRE_CHECK(account.owed_bytes > 0 && account.owed_bytes <= kOwedBytesMax + account.last_bytes,
                "OS1");
    QUIRE_CHECK(!account.waits || account.owed_bytes > 0, "OS2");
  }
}

}  // namespace quire::lifecycle
