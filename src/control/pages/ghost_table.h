#pragma once
// GhostTable remembers the last `ghost_count` entries that were evicted, by the hash of their
// content, with one word of the policy's. 24 bytes a ghost.
//
// Thread   engine thread only.
// Errors   none.
//
// Invariants, all checked by verify():
//   G1  A ghost in use is in exactly the chain of its hash; no other ghost is in any chain.
//   G2  No two ghosts have one hash.
#include <cstdint>
#include <optional>
#include <vector>

namespace quire::control {

class GhostTable {
 public:
  explicit GhostTable(std::uint32_t ghost_count);

  // Takes the place of the oldest, whose word is returned if it was still there.
  std::optional<std::uint64_t> put(std::uint64_t content_hash, std::uint64_t word);
  // The word of this content.
  std::optional<std::uint64_t> find(std::uint64_t content_hash) const;
  // The same, which is then forgotten.
  std::optional<std::uint64_t> take(std::uint64_t content_hash);

  std::uint32_t count() const { return count_; }
  std::uint64_t step_count() const { return step_count_; }
  void verify() const;

 private:
  static constexpr std::uint32_t kNone = 0xffffffffu;
  struct Ghost {
    std::uint64_t content_hash = 0;
    std::uint64_t word = 0;
    std::uint32_t next = kNone;  // In the chain of the hash.
    bool in_use = false;
  };
  std::uint32_t& bucket_of(std::uint64_t content_hash) {
    return buckets_[(content_hash * 0x9e3779b97f4a7c15u >> 32) & (buckets_.size() - 1)];
  }
  std::uint32_t bucket_of(std::uint64_t content_hash) const {
    return const_cast<GhostTable*>(this)->bucket_of(content_hash);
  }
  void unchain(std::uint32_t index);

  std::vector<Ghost> ghosts_;           // A ring, written at oldest_.
  std::vector<std::uint32_t> buckets_;  // A power of two, at least as many as ghosts.
  std::uint32_t oldest_ = 0;
  std::uint32_t count_ = 0;
  std::uint64_t step_count_ = 0;
};

}  // namespace quire::control
