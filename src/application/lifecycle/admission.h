#pragma once
// Admission says whether a launch comes in, has to wait, or is refused and when to try again.
//
// A launch that comes in waits until there is a place for it, and holds the place until its last
// output was taken. Places and launches that wait are limited. A child does not wait: its parent
// may be what holds the place, and a server full of parents would wait forever.
//
// A tenant may have as many places as it leaves for the others, but one at least
// (control/api/tenant_shares.h). The same holds for places in the queue, if not every waiting
// launch has a place. First come, first served would let one tenant keep all the others out. If
// only one tenant is known, it may have all places and the whole queue. An operator may give a
// tenant another share of the places.
//
// Thread   that of its owner. Reads no clock.
// Errors   Unavailable, with the limits, how much of each is used, and when to try again. If a
//          tenant's share is full, the error says so.
//
// A message has figures of the tenant's own launches only. Sums over all tenants, and the present
// size of a share, would disclose those of another tenant.
//
// Invariants, checked by verify():
//   AD1  At most instance_count_max + waiting_launch_count_max are in.
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "base/result.h"
#include "control/api/tenant_shares.h"
#include "control/api/types.h"

namespace quire::lifecycle {

struct AdmissionLimits {
  // Instances that have begun to start, until their last output was taken; never more than the
  // runtime has slots.
  std::uint32_t instance_count_max = 1u << 20;
  // Launches that wait for one of them to go, or for their program to be compiled.
  std::uint32_t waiting_launch_count_max = 1u << 16;

  std::uint64_t total() const {
    return std::uint64_t{instance_count_max} + waiting_launch_count_max;
  }
};

class Admission {
 public:
  explicit Admission(const AdmissionLimits& limits)
      : limits_(limits), waiting_(limits.total()), there_(limits.total()) {
    set_several(false);
  }

  enum class Wait : std::uint8_t { May, MustNot };
  struct Launch {
    control::TenantId tenant{};
    Wait wait = Wait::May;
    std::string why_no_memory = {};  // Why it could not start now in any place; empty: it could.
  };
  // Whether the server knows more than one tenant.
  void set_several(bool are_several);
  // The operator's word: so many of the tenant's may be there at once, if the others leave the places.
  void set_share(control::TenantId tenant, std::uint64_t instance_count);
  // A launch comes in, and waits from here on.
  Result<void> admit(const Launch& launch, std::uint64_t now_ns);
  // Whether one of the tenant's that waits may start.
  bool has_place(control::TenantId tenant) const {
    return instance_count() < limits_.instance_count_max &&
           instance_count(tenant) < place_share_of(tenant);
  }
  // One of the tenant's that waited does no more: it starts, or it ended before it could.
  void begin(control::TenantId tenant);
  // The last output of one of the tenant's that had begun was taken.
  void leave(control::TenantId tenant, std::uint64_t now_ns);

  // The same launch may succeed then: a guess from how often one left of late.
  std::uint64_t retry_after_ms(std::uint64_t now_ns) const;

  const AdmissionLimits& limits() const { return limits_; }
  std::uint64_t instance_count() const { return there_.count(); }
  std::uint64_t instance_count(control::TenantId tenant) const { return there_.count_of(tenant); }
  std::uint64_t waiting_count() const { return waiting_.count(); }
  std::uint64_t waiting_count(control::TenantId tenant) const { return waiting_.count_of(tenant); }
  // How many of the tenant's may wait, and be there, as things are.
  std::uint64_t waiting_share_of(control::TenantId tenant) const;
  std::uint64_t place_share_of(control::TenantId tenant) const;
  void verify() const;

 private:
  // Why it does not come in.
  std::optional<std::string> refusal(const Launch& launch) const;
  // One more of the tenant's will find a place at once, though other launches wait.
  bool will_have_place(control::TenantId tenant) const;

  const AdmissionLimits limits_;
  bool are_several_ = false;           // Tenants.
  control::TenantShares waiting_;      // Of all that may be in, where instances have theirs,
  control::TenantShares there_;        // and these, where places to wait have theirs.
  std::deque<std::uint64_t> left_ns_;  // When the latest left.
};

}  // namespace quire::lifecycle
