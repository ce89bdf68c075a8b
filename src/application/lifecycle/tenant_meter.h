#pragma once
// TenantMeter counts what the instances of each tenant hold together and have used, and decides
// whether the tenant may have another one. One instance's own limits are not enough: a tenant with
// a thousand instances has a thousand times those.
//
// An instance counts from its launch until its last output was taken, because its output takes
// memory. The memory that it may grow to is reserved from its launch until its end. The control
// layer counts and limits pages; host calls look at the gauge for HTTP.
//
// Owns     limits, counts and gauge of each tenant that an operator named or that has instances.
// Thread   engine thread only.
// Errors   Unavailable names tenant, limit and figures: it may be had when another one has ended.
//
// Invariants, all checked by verify():
//   TM1  A tenant without instances has reserved nothing and has no exchange open.
//   TM2  Only a tenant that was ever seen is known; its counts are those that entered and did not
//        leave.
#include <cstdint>
#include <map>
#include <optional>

#include "application/hostcalls/tenant_gauge.h"
#include "base/result.h"
#include "control/api/types.h"

namespace quire::lifecycle {

inline constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};

// The operator's limits for all instances of a tenant together.
struct TenantLimits {
  std::uint64_t instance_count_max = kNoLimit;  // Waiting ones, children and ended ones included.
  std::uint64_t memory_bytes_max = kNoLimit;    // What they may grow to, together.
  std::uint64_t page_count_max = kNoLimit;      // ControlPort::set_tenant() has it too.
  std::uint64_t http_exchange_count_max = kNoLimit;
  std::optional<std::uint64_t> snapshot_bytes_max = {};  // Likewise.
};

// The use of one instance, or of all that ever were.
struct InstanceUse {
  std::uint64_t cpu_ns = 0;
  std::uint64_t wall_ns = 0;  // From launch to end, summed.
  std::uint64_t token_count = 0;
  std::uint64_t http_call_count = 0;
  std::uint64_t output_bytes = 0;
  InstanceUse& operator+=(const InstanceUse& more);
  bool operator==(const InstanceUse&) const = default;
};

class TenantMeter {
 public:
  struct Tenant {
    TenantLimits limits;
    hostcalls::TenantGauge gauge;
    std::uint64_t instance_count = 0;         // Now.
    std::uint64_t memory_bytes_reserved = 0;  // Now.
    std::uint64_t launched_count = 0;         // Ever,
    std::uint64_t refused_count = 0;          // for one of these limits.
    InstanceUse ended;                        // Of those that have ended.
  };
  // A tenant whose instances are gone keeps its counts. Tenants are the operator's, so they are
  // few.
  using Tenants = std::map<control::TenantId, Tenant>;

  void name(control::TenantId tenant, const TenantLimits& limits);

  // Whether an instance that may grow to so many bytes may come in; a refusal is counted.
  Result<void> check(control::TenantId tenant, std::uint64_t memory_bytes_max);
  // The same question without a refusal that counts.
  bool has_room(control::TenantId tenant, std::uint64_t memory_bytes_max) const;
  // An instance comes in. The gauge stays until the instance leaves.
  hostcalls::TenantGauge& enter(control::TenantId tenant, std::uint64_t memory_bytes_max);
  // The memory that an instance may grow to is another now.
  void resize(control::TenantId tenant, std::uint64_t reserved, std::uint64_t bytes);
  std::uint64_t memory_bytes_left(control::TenantId tenant) const;
  // The instance has ended, and has used that much.
  void end(control::TenantId tenant, std::uint64_t memory_bytes_max, const InstanceUse& use);
  // The last output of the instance was taken. Requires: it has ended.
  void leave(control::TenantId tenant);

  const Tenants& tenants() const { return tenants_; }
  void verify() const;

 private:
  Tenant& at(control::TenantId tenant);

  Tenants tenants_;
};

}  // namespace quire::lifecycle
