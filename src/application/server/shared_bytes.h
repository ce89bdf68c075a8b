#pragma once
// SharedBytes limits what the server keeps of things that have come only in part: programs that are
// uploaded, and frames whose end is missing. All connections share the limit, and each tenant has
// its share of it (control/api/tenant_shares.h). Bytes are charged as they come, so that what was
// only announced takes no room.
//
// If more do not fit, a holder of one tenant gives way: the one that has got nothing for longest.
// The tenant is the one that holds the most, if that is another one and holds more than the asking
// tenant will. Else it is the asking tenant, and its holder gives way only if it has got nothing
// for own_idle_time_max. A tenant beyond its share from the operator takes nothing from another.
//
// Thread   io thread only. Reads no clock.
//
// Invariants, checked by verify():
//   SB1  The sums of the tenants are those of their holders.
//   SB2  A holder is in the order of its tenant while it holds bytes, and in no other.
#include <chrono>
#include <cstdint>
#include <list>
#include <map>

#include "control/api/tenant_shares.h"
#include "control/api/types.h"

namespace quire::server {

class SharedBytes {
 public:
  using Time = std::chrono::steady_clock::time_point;

  struct Limits {
    std::uint64_t bytes_max = 0;
    // A holder that has got nothing for so long gives way to another one of its own tenant.
    std::chrono::milliseconds own_idle_time_max{};
  };

  // Holder is what one connection holds. It gives its bytes back when it ends.
  class Holder {
   public:
    Holder(SharedBytes& all, control::TenantId tenant) : all_(all), tenant_(tenant) {}
    virtual ~Holder() { give_all(); }
    Holder(const Holder&) = delete;
    Holder& operator=(const Holder&) = delete;

    std::uint64_t held_bytes() const { return bytes_; }

   protected:
    // False: they do not fit, although every holder that must give way did. What is held stays.
    bool take(std::uint64_t bytes, Time now) { return all_.take(*this, bytes, now); }
    void give_all() { all_.give_all(*this); }
    // So many the tenant holds in all.
    std::uint64_t tenant_bytes() const { return all_.shares_.count_of(tenant_); }

   private:
    friend class SharedBytes;
    // Drops all that is held, and says so when it is asked for more.
    virtual void give_way() = 0;

    SharedBytes& all_;
    const control::TenantId tenant_;
    std::uint64_t bytes_ = 0;
    Time taken_at_{};
    std::list<Holder*>::iterator place_;  // In the order of its tenant, while it holds bytes.
  };

  explicit SharedBytes(const Limits& limits) : limits_(limits), shares_(limits.bytes_max) {
    shares_.set_several(false);
  }

  // Whether the server knows more than one tenant; else the one may have all.
  void set_several(bool are_several) { shares_.set_several(are_several); }
  // The operator's word: the tenant may hold so much, if the others leave it.
  void set_share(control::TenantId tenant, std::uint64_t bytes) {
    shares_.set_share(tenant, bytes);
  }
  const Limits& limits() const { return limits_; }
  std::uint64_t held_bytes() const { return shares_.count(); }
  std::uint64_t held_bytes(control::TenantId tenant) const { return shares_.count_of(tenant); }
  void verify() const;

 private:
  using Order = std::list<Holder*>;  // The one that has got nothing for longest comes first.

  bool take(Holder& holder, std::uint64_t bytes, Time now);
  void give_all(Holder& holder);
  // The one that gives way so that the tenant of `holder` may have `wanted` in all; null: none.
  Holder* who_gives_way(const Holder& holder, std::uint64_t wanted, Time now) const;

  const Limits limits_;
  control::TenantShares shares_;
  std::map<control::TenantId, Order> orders_;
};

}  // namespace quire::server
