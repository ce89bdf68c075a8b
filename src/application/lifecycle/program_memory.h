#pragma once
// ProgramMemory counts the memory that programs have, and divides a server's limit among tenants.
//
// An instance is charged what it has, not what it may grow to: its linear memory, and what the host
// keeps for it. The charge is set anew whenever the guest has run.
//
// A launch starts while its tenant has less than its share. The share is half of what the other
// tenants leave, or, if that is more, the tenant's part by weight among the tenants that have any,
// which counts up to half of the limit. Beyond that a launch waits. Instances that run may grow
// further. If all together have more than the limit, the tenant that has most for its weight loses
// the instance that grew last.
//
// Owns     the charge of each instance.
// Thread   engine thread only.
//
// Invariants, all checked by verify():
//   PM1  The charge of a tenant is the sum over its instances, and bytes() the sum over tenants.
//   PM2  A tenant lists each instance that lives once, in the order in which they grew.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>

#include "control/api/types.h"

namespace quire::lifecycle {

class ProgramMemory {
 public:
  static constexpr std::uint64_t kUnlimited = ~std::uint64_t{0};

  explicit ProgramMemory(std::uint64_t bytes_max) : bytes_max_(bytes_max) {}

  void set_several(bool are_several) { are_several_ = are_several; }
  void set_weight(control::TenantId tenant, std::uint32_t weight);  // Positive.

  // Whether an instance of the tenant that begins with so many bytes may start.
  bool has_room(control::TenantId tenant, std::uint64_t first_bytes) const;
  // Why it may not, with figures of its own tenant if there are several.
  std::string why_full(control::TenantId tenant, std::uint64_t first_bytes) const;

  // The instance has so much now.
  void charge(control::TenantId tenant, control::InstanceId id, std::uint64_t bytes);
  // The instance has ended: what is still charged is output that its client has not taken.
  void end(control::InstanceId id);
  // Nothing of it is left.
  void leave(control::InstanceId id);

  bool is_over() const { return bytes_ > bytes_max_; }
  struct Loser {
    control::InstanceId id{};
    std::string why;
  };
  // The instance that must end now, if all together have more than the limit.
  std::optional<Loser> loser() const;

  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t bytes_max() const { return bytes_max_; }
  std::uint64_t bytes_of(control::TenantId tenant) const;
  std::uint64_t bytes_of(control::InstanceId id) const;
  std::uint64_t share_of(control::TenantId tenant) const;
  void verify() const;

 private:
  struct Tenant {
    std::uint32_t weight = 1;
    std::uint64_t bytes = 0;
    std::map<std::uint64_t, control::InstanceId> by_growth;  // Those that live.
  };
  struct Charge {
    control::TenantId tenant{};
    std::uint64_t bytes = 0;
    std::uint64_t bytes_most = 0;  // Of all charges so far: more than that is growth.
    std::uint64_t growth = 0;      // Its key in by_growth.
    bool lives = true;
  };
  void set(Charge& charge, std::uint64_t bytes);

  const std::uint64_t bytes_max_;
  bool are_several_ = false;  // Tenants.
  std::uint64_t bytes_ = 0;
  std::uint64_t next_growth_ = 0;
  std::map<control::TenantId, Tenant> tenants_;
  std::unordered_map<control::InstanceId, Charge> charges_;
};

}  // namespace quire::lifecycle
