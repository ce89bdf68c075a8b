#pragma once
// SnapshotShares divides the bytes that a store may have of snapshots among tenants: each may have
// half of what the other tenants leave. If no other tenant is known, the one may have all; an
// operator may give a tenant another share. It also has the figures of the store's disk.
//
// Thread   any: the engine's thread sets shares and reads figures, the disk's thread does the rest.
#include <algorithm>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace quire::store {

// The disk of a store, as it was at the last save.
struct SnapshotFigures {
  std::uint64_t bytes = 0;          // Of all stored pages.
  std::uint64_t bytes_max = 0;      // That they may have; 0: there is no store.
  std::uint64_t reserve_bytes = 0;  // Of the file system, which no page is written into.
  std::uint64_t free_bytes = 0;     // Of the file system, the reserve included.
};

class SnapshotShares {
 public:
  void set_several(bool are_several) {
    const std::lock_guard lock(mutex_);
    are_several_ = are_several;
  }
  // The operator's word: the tenant may have so much, if the others leave it.
  void set_share(const std::string& tenant, std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    shares_[tenant] = bytes;
  }
  // How much the tenant may have of `bytes_max`, of which the others have so much.
  std::uint64_t share_of(const std::string& tenant, std::uint64_t bytes_max,
                         std::uint64_t others) const {
    const std::lock_guard lock(mutex_);
    const std::uint64_t left = bytes_max - std::min(bytes_max, others);
    const auto given = shares_.find(tenant);
    if (given != shares_.end()) return std::min(given->second, left);
    return are_several_ ? left / 2 : left;
  }

  void set_figures(const SnapshotFigures& figures) {
    const std::lock_guard lock(mutex_);
    figures_ = figures;
  }
  SnapshotFigures figures() const {
    const std::lock_guard lock(mutex_);
    return figures_;
  }

 private:
  mutable std::mutex mutex_;  // Guards all below.
  bool are_several_ = false;  // Tenants.
  std::map<std::string, std::uint64_t> shares_;
  SnapshotFigures figures_;
};

}  // namespace quire::store
