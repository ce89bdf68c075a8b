#pragma once
// The page that turned cold first goes first. Leaves turn cold before what they stand on.
#include "control/pages/eviction_policy.h"

namespace quire::control {

class LruPolicy final : public EvictionPolicy {
 public:
  std::uint32_t queue_count() const override { return 1; }
  bool keeps_place() const override { return false; }
  void inserted(EntryId, std::uint64_t) override {}
  void hit(EntryId) override {}
  std::uint32_t gone_cold(EntryId, const ColdFacts&) override { return 0; }
  Choice choose(std::span<const QueueHead>) override {
    ++step_count_;
    return {};
  }
  std::optional<std::uint32_t> passed_over(EntryId, std::uint32_t) override { return {}; }
  void evicted(EntryId) override {}
  void removed(EntryId) override {}
  std::uint64_t step_count() const override { return step_count_; }
  void verify() const override {}

 private:
  std::uint64_t step_count_ = 0;
};

}  // namespace quire::control
