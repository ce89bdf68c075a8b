#pragma once
// KeyHolder has the ring of keys of a server that runs. Looking takes the ring as it is; a new ring replaces
// it whole.
//
// Thread   any.
#include <memory>
#include <mutex>
#include <utility>

#include "application/access/key_ring.h"

namespace quire::access {

using KeyRingHandle = std::shared_ptr<const KeyRing>;

class KeyHolder {
 public:
  explicit KeyHolder(KeyRing ring) : ring_(std::make_shared<const KeyRing>(std::move(ring))) {}

  KeyRingHandle ring() const {
    const std::lock_guard lock(mutex_);
    return ring_;
  }
  void replace(KeyRing ring) {
    KeyRingHandle next = std::make_shared<const KeyRing>(std::move(ring));
    const std::lock_guard lock(mutex_);
    ring_ = std::move(next);
  }

 private:
  mutable std::mutex mutex_;  // Of ring_.
  KeyRingHandle ring_;
};

}  // namespace quire::access
