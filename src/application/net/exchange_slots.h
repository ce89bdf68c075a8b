#pragma once
// ExchangeSlots counts the HTTP exchanges of all programs, each of which may hold a socket and about 200 KiB. A
// tenant has at most its share of them (control/api/tenant_shares.h), so that one with slow peers leaves some to the
// others. A slot is taken until its exchange holds nothing any more, which may be after the program closed it.
//
// Thread   engine thread only.
// Errors   Unavailable: all are taken, or those that the tenant may have.
#include <cstddef>
#include <cstdint>
#include <map>

#include "application/net/exchange_id.h"
#include "base/result.h"
#include "control/api/tenant_shares.h"
#include "control/api/types.h"

namespace quire::net {

class ExchangeSlots {
 public:
  explicit ExchangeSlots(std::size_t count_max) : shares_(count_max) { shares_.set_several(false); }

  // Whether the server knows more than one tenant; else the one may have all.
  void set_several(bool are_several) { shares_.set_several(are_several); }
  // The operator's word.
  void set_share(control::TenantId tenant, std::uint64_t count) {
    shares_.set_share(tenant, count);
  }

  // `id` is new.
  Result<void> take(ExchangeId id, control::TenantId tenant);
  // Requires: it has a slot.
  void give(ExchangeId id);
  std::size_t count() const { return owners_.size(); }

 private:
  control::TenantShares shares_;
  std::map<ExchangeId, control::TenantId> owners_;
};

}  // namespace quire::net
