#pragma once
// OutputShares limits how many bytes a second tenants send to their clients while the device works
// and more than one tenant has programs. What goes out takes cores: a gigabyte a second, which four
// programs reach, takes one, and every step of the device waits for the core.
//
// Tenants that owe nothing put out at once. Each may owe kOwedBytesMax; then it waits until it has
// paid kPaidBytes of that. Those that owe pay kBytesPerSecond together, in equal parts.
//
// Owns     what each tenant owes.
// Thread   engine thread only.
//
// Invariants, all checked by verify():
//   OS1  Every tenant here owes something, and at most kOwedBytesMax and one thing said.
//   OS2  Only a tenant that owes more than kOwedBytesMax - kPaidBytes waits.
#include <cstdint>
#include <map>

#include "control/api/types.h"

namespace quire::lifecycle {

class OutputShares {
 public:
  static constexpr std::uint64_t kBytesPerSecond = 64u << 20;  // About a twentieth of a core.
  static constexpr std::uint64_t kOwedBytesMax = 256u << 10;
  static constexpr std::uint64_t kPaidBytes = 64u << 10;
  static constexpr std::uint64_t kEachBytes = 512;  // What one thing said takes beside its bytes.

  // Whether it may put out the next thing it says.
  bool may_put_out(control::TenantId tenant, std::uint64_t now_ns);
  // The tenant sent output of so many bytes.
  void charge(control::TenantId tenant, std::uint64_t bytes);
  // When a tenant that must wait may put out again, if no other one begins to owe.
  std::uint64_t may_at_ns(control::TenantId tenant) const;

  void verify() const;

 private:
  struct Account {
    std::uint64_t owed_bytes = 0;
    std::uint64_t last_bytes = 0;  // Of the last thing said.
    bool waits = false;
  };
  void pay(std::uint64_t now_ns);

  std::map<control::TenantId, Account> accounts_;
  std::uint64_t paid_until_ns_ = 0;
};

}  // namespace quire::lifecycle
