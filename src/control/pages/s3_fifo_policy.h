#pragma once
// S3-FIFO (Yang et al., "FIFO queues are all you need for cache eviction", SOSP 2023). It has a
// small queue for new entries, and a main queue for entries that were hit there or are remembered
// as a ghost.
//
// New entries go to the small queue, a tenth of all. Its head moves to the main queue if it was
// hit, else it is evicted and leaves a ghost. The main queue's head goes round again while its
// count of hits (at most 3) lasts. There are as many ghosts as entries.
#include <vector>

#include "control/pages/eviction_policy.h"
#include "control/pages/ghost_table.h"

namespace quire::control {

class S3FifoPolicy final : public EvictionPolicy {
 public:
  explicit S3FifoPolicy(std::uint32_t entry_count);

  std::uint32_t queue_count() const override { return 2; }
  bool keeps_place() const override { return true; }
  void inserted(EntryId entry, std::uint64_t content_hash) override;
  void hit(EntryId entry) override;
  std::uint32_t gone_cold(EntryId entry, const ColdFacts& facts) override;
  Choice choose(std::span<const QueueHead> heads) override;
  std::optional<std::uint32_t> passed_over(EntryId entry, std::uint32_t queue) override;
  void evicted(EntryId entry) override;
  void removed(EntryId entry) override;
  std::uint64_t step_count() const override { return step_count_ + ghosts_.step_count(); }
  void verify() const override { ghosts_.verify(); }

 private:
  enum Queue : std::uint32_t { kSmall = 0, kMain = 1 };
  struct Entry {
    std::uint64_t content_hash = 0;
    Queue queue = kSmall;
    std::uint8_t hit_count = 0;
  };
  void promote(Entry& entry);
  Entry& at(EntryId entry) { return entries_[index_of(entry)]; }

  std::vector<Entry> entries_;
  GhostTable ghosts_;
  std::uint64_t step_count_ = 0;
};

}  // namespace quire::control
