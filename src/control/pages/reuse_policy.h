#pragma once
// ReusePolicy, the default, sorts pages into classes: by how often they were used, how long their
// chain is, and whether they were its end. Each class is a queue by the time of turning cold. The
// head that ReuseStatistics gives the least worth goes first.
//
// Evicted pages are learned from, too. A ghost, four for each page of the pool, keeps a page's
// class, age and uses. So a page that comes back too late teaches that its class is worth more, and
// counts as used.
#include <vector>

#include "control/pages/eviction_policy.h"
#include "control/pages/ghost_table.h"
#include "control/pages/reuse_statistics.h"

namespace quire::control {

class ReusePolicy final : public EvictionPolicy {
 public:
  explicit ReusePolicy(std::uint32_t entry_count);

  std::uint32_t queue_count() const override;
  bool keeps_place() const override { return false; }
  void inserted(EntryId entry, std::uint64_t content_hash) override;
  void hit(EntryId entry) override;
  std::uint32_t gone_cold(EntryId entry, const ColdFacts& facts) override;
  Choice choose(std::span<const QueueHead> heads) override;
  std::optional<std::uint32_t> passed_over(EntryId, std::uint32_t) override { return {}; }
  void evicted(EntryId entry) override;
  void removed(EntryId entry) override;
  std::uint64_t step_count() const override;
  void verify() const override;

 private:
  struct Entry {
    std::uint64_t content_hash = 0;
    ReuseStatistics::Life life;
    std::uint8_t use_count = 0;
    bool is_cold = false;  // A life is open.
  };
  Entry& at(EntryId entry) { return entries_[index_of(entry)]; }

  std::vector<Entry> entries_;
  GhostTable ghosts_;
  ReuseStatistics statistics_;
  std::uint64_t step_count_ = 0;
};

}  // namespace quire::control
