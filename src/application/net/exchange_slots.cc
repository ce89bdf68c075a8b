#include "application/net/exchange_slots.h"

#include <algorithm>
#include <string>

#include "base/check.h"

namespace quire::net {

Result<void> ExchangeSlots::take(ExchangeId id, control::TenantId tenant) {
  const std::uint64_t own = shares_.count_of(tenant);
  const std::uint64_t left = shares_.count_max() - shares_.count();
  const std::uint64_t share = std::max<std::uint64_t>(shares_.share_of(tenant), 1);
  if (left == 0 || own >= share) {
    return Error(ErrorCode::Unavailable,
                 left == 0 ? "all " + std::to_string(shares_.count_max()) +
                                 " HTTP exchanges of the server are in use, " +
                                 std::to_string(own) + " of them by this tenant; try again later"
                           : "the tenant's share of the HTTP exchanges of the server is in use, " +
                                 std::to_string(own) + " exchanges; try again when one has ended");
  }
  shares_.take(tenant, 1);
  QUIRE_CHECK(owners_.emplace(id, tenant).second, "an exchange has one slot");
  return {};
}

void ExchangeSlots::give(ExchangeId id) {
  const auto owner = owners_.find(id);
  QUIRE_CHECK(owner != owners_.end(), "the exchange has a slot");
  shares_.give(owner->second, 1);
  owners_.erase(owner);
}

}  // namespace quire::net
