#pragma once
// Admission says whether a launch comes in, has to wait, or is refused and when to try again.
//
// A launch that comes in waits until there is a place for it, and holds the place until its last
// word was taken. Places and those who wait for one are bounded. A child does not wait: its parent
// may be what holds the place, and a server full of parents would wait for ever.
//
// Where not all who wait have a place, a tenant may have as many waiting as it leaves for the
// others (control/api/tenant_shares.h), one at least: first come, first served would let one tenant
// keep all others from waiting at all. The only tenant there is may have the whole queue.
//
// Thread   that of its owner. Reads no clock.
// Errors   Unavailable, with the bounds, how much of each is used, and when to try again; and whose
//          share is full, where that is why.
//
// Invariants, checked by verify():
//   A1  At most instance_count_max + waiting_launch_count_max are in.
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "base/result.h"
#include "control/api/tenant_shares.h"
#include "control/api/types.h"

namespace quire::lifecycle {

struct AdmissionLimits {
  // Instances that have begun to start, until their last word was taken; never more than the
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
  explicit Admission(const AdmissionLimits& limits) : limits_(limits), waiting_(limits.total()) {}

  enum class Wait : std::uint8_t { May, MustNot };
  struct Launch {
    control::TenantId tenant{};
    Wait wait = Wait::May;
    bool is_only_tenant = true;  // The server knows of no other.
  };
  // A launch comes in, and waits from here on.
  Result<void> admit(const Launch& launch, std::uint64_t now_ns);
  // Whether one that waits may start.
  bool has_place() const { return instance_count_ < limits_.instance_count_max; }
  // One of the tenant's that waited does no more: it starts, or it ended before it could.
  void begin(control::TenantId tenant);
  // The last word of one that had begun was taken.
  void leave(std::uint64_t now_ns);

  // The same launch may succeed then: a guess from how often one left of late.
  std::uint64_t retry_after_ms(std::uint64_t now_ns) const;

  const AdmissionLimits& limits() const { return limits_; }
  std::uint64_t instance_count() const { return instance_count_; }
  std::uint64_t waiting_count() const { return waiting_.count(); }
  std::uint64_t waiting_count(control::TenantId tenant) const { return waiting_.count_of(tenant); }
  // How many of the tenant's may wait while there are others, as things are.
  std::uint64_t share_of(control::TenantId tenant) const;
  void verify() const;

 private:
  // Why it does not come in.
  std::optional<std::string> refusal(const Launch& launch) const;

  const AdmissionLimits limits_;
  std::uint64_t instance_count_ = 0;
  control::TenantShares waiting_;      // Of all that may be in, where instances have theirs.
  std::deque<std::uint64_t> left_ns_;  // When the latest left.
};

}  // namespace quire::lifecycle
