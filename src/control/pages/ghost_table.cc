#include "control/pages/ghost_table.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace quire::control {

GhostTable::GhostTable(std::uint32_t ghost_count)
    : ghosts_(std::max(1u, ghost_count)),
      buckets_(std::bit_ceil(std::max(1u, ghost_count)), kNone) {}

void GhostTable::unchain(std::uint32_t index) {
  std::uint32_t* link = &bucket_of(ghosts_[index].content_hash);
  while (*link != index) {
    QUIRE_CHECK(*link != kNone, "G1");
    ++step_count_;
    link = &ghosts_[*link].next;
  }
  *link = ghosts_[index].next;
  ghosts_[index] = {};
  --count_;
}

std::optional<std::uint64_t> GhostTable::put(std::uint64_t content_hash, std::uint64_t word) {
  std::optional<std::uint64_t> dropped = take(content_hash);  // G2
  Ghost& ghost = ghosts_[oldest_];
  if (ghost.in_use) {
    dropped = ghost.word;
    unchain(oldest_);
  }
  std::uint32_t& bucket = bucket_of(content_hash);
  ghost = {.content_hash = content_hash, .word = word, .next = bucket, .in_use = true};
  bucket = oldest_;
  oldest_ = oldest_ + 1 == ghosts_.size() ? 0 : oldest_ + 1;
  ++count_;
  return dropped;
}

std::optional<std::uint64_t> GhostTable::find(std::uint64_t content_hash) const {
  for (std::uint32_t index = bucket_of(content_hash); index != kNone; index = ghosts_[index].next) {
    if (ghosts_[index].content_hash == content_hash) return ghosts_[index].word;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> GhostTable::take(std::uint64_t content_hash) {
  for (std::uint32_t index = bucket_of(content_hash); index != kNone; index = ghosts_[index].next) {
    ++step_count_;
    if (ghosts_[index].content_hash != content_hash) continue;
    const std::uint64_t word = ghosts_[index].word;
    unchain(index);
    return word;
  }
  return std::nullopt;
}

void GhostTable::verify() const {
  std::vector<bool> seen(ghosts_.size(), false);
  std::uint32_t chained = 0;
  for (const std::uint32_t first : buckets_) {
    for (std::uint32_t index = first; index != kNone; index = ghosts_[index].next) {
      QUIRE_CHECK(ghosts_[index].in_use, "G1");
      QUIRE_CHECK(!seen[index], "G1");
      seen[index] = true;
      ++chained;
      for (std::uint32_t other = ghosts_[index].next; other != kNone; other = ghosts_[other].next) {
        QUIRE_CHECK(ghosts_[other].content_hash != ghosts_[index].content_hash, "G2");
      }
    }
  }
  QUIRE_CHECK(chained == count_, "G1");
}

}  // namespace quire::control
