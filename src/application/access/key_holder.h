#pragma once
// KeyHolder has the ring of keys of a server that runs, and knows which of them have expired and when
// they were used. Looking takes the ring as it is; a new ring replaces it whole.
//
// Thread   any.
#include <memory>
#include <mutex>
#include <utility>

#include "application/access/key_ring.h"
#include "application/access/key_uses.h"
#include "base/clock.h"

namespace quire::access {

using KeyRingHandle = std::shared_ptr<const KeyRing>;

class KeyHolder {
 public:
  // The clock and the uses outlive the holder. Without uses, none are noted.
  KeyHolder(KeyRing ring, const WallClock& clock, KeyUses* uses = nullptr)
      : clock_(clock), uses_(uses), ring_(std::make_shared<const KeyRing>(std::move(ring))) {}

  KeyRingHandle ring() const {
    const std::lock_guard lock(mutex_);
    return ring_;
  }
  bool has_expired(const service::Principal& holder) const {
    return service::has_expired(holder, clock_.now_unix_ms() / 1000);
  }
  void note_use(const service::Principal& holder) const {
    if (uses_ != nullptr) uses_->note(holder.key, clock_.now_unix_ms() / 1000);
  }
  void replace(KeyRing ring) {
    KeyRingHandle next = std::make_shared<const KeyRing>(std::move(ring));
    const std::lock_guard lock(mutex_);
    ring_ = std::move(next);
  }

 private:
  const WallClock& clock_;
  KeyUses* const uses_;
  mutable std::mutex mutex_;  // Of ring_.
  KeyRingHandle ring_;
};

}  // namespace quire::access
