#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/seeds.h"
#include "control/contexts/context.h"
#include "control/contexts/model_resources.h"

namespace quire::control {
namespace {

using inference::SequenceId;

constexpr std::uint32_t kSequenceCount = 6;
constexpr std::size_t kContextCount = 15;

// Batches that use contexts and single passes, beside a table of who used what last.
class Program {
 public:
  explicit Program(std::uint64_t seed) : random_(seed) {
    for (std::size_t each = 0; each < kContextCount; ++each) contexts_.push_back(slab_.make());
  }
  void step() {
    if (random_() % 4 == 0) {
      const std::size_t index = random_() % kContextCount;
      pool_.release(*contexts_[index]);
      used_.erase(index);
      if (random_() % 2 == 0) {
        slab_.destroy(contexts_[index]);
        contexts_[index] = slab_.make();
      }
    }
    const BatchId batch{++batch_};
    const std::uint64_t count = random_() % (kSequenceCount + 2);
    for (std::uint64_t each = 0; each < count; ++each) {
      random_() % 3 == 0 ? use_one_pass(batch) : use(random_() % kContextCount, batch);
      pool_.verify();
    }
    for (const SequenceId each : passes_) pool_.release_ephemeral(each);
    passes_.clear();
    check();
  }

 private:
  // Contexts that a table may be taken from; all of them were used equally long ago.
  std::set<std::size_t> oldest() const {
    std::set<std::size_t> all;
    std::uint64_t least = batch_;
    for (const auto& [index, used] : used_) least = std::min(least, used);
    for (const auto& [index, used] : used_) {
      if (used == least && used < batch_) all.insert(index);
    }
    return all;
  }
  bool has_free() const { return used_.size() + passes_.size() < kSequenceCount; }
  // One of `victims` lost its table.
  void take_from(const std::set<std::size_t>& victims) {
    std::size_t count = 0;
    for (const std::size_t each : victims) {
      if (contexts_[each]->table().sequence() != kNoSequence) continue;
      ++count;
      used_.erase(each);
    }
    EXPECT_EQ(count, 1u) << "of those used longest ago";
  }
  void use(std::size_t index, BatchId batch) {
    const bool has_one = used_.contains(index);
    const bool takes = !has_one && !has_free();
    const std::set<std::size_t> victims = oldest();
    EXPECT_EQ(pool_.acquire(*contexts_[index], batch), !takes || !victims.empty());
    if (takes && victims.empty()) return;
    if (takes) take_from(victims);
    used_[index] = batch_;
  }
  void use_one_pass(BatchId batch) {
    const bool takes = !has_free();
    const std::set<std::size_t> victims = oldest();
    SequenceId sequence{};
    EXPECT_EQ(pool_.acquire_ephemeral(sequence, batch), !takes || !victims.empty());
    if (takes && victims.empty()) return;
    if (takes) take_from(victims);
    passes_.push_back(sequence);
  }
  void check() const {
    std::set<SequenceId> taken;
    for (std::size_t index = 0; index < kContextCount; ++index) {
      EXPECT_EQ(contexts_[index]->table().sequence() != kNoSequence, used_.contains(index));
      if (used_.contains(index)) taken.insert(contexts_[index]->table().sequence());
    }
    EXPECT_EQ(taken.size(), used_.size()) << "two have one table";
    EXPECT_EQ(pool_.taken_count(), used_.size());
  }

  std::mt19937_64 random_;
  Slab<Context> slab_;
  std::vector<Context*> contexts_;
  SequencePool pool_{kSequenceCount, true};
  std::map<std::size_t, std::uint64_t> used_;  // Of contexts that have a table: the last batch.
  std::vector<SequenceId> passes_;
  std::uint64_t batch_ = 0;
};

TEST(SequencePool, TakesTheTableThatWasUsedLongestAgo) {
  for (const std::uint64_t seed : campaign_seeds(40)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Program program(seed);
    for (int step = 0; step < 300 && !testing::Test::HasFailure(); ++step) program.step();
  }
}

TEST(SequencePool, OfABasicDeviceNoneIsTaken) {
  Slab<Context> slab;
  SequencePool pool(1, false);
  Context* first = slab.make();
  EXPECT_TRUE(pool.acquire(*first, BatchId{1}));
  EXPECT_FALSE(pool.acquire(*slab.make(), BatchId{2}));
  pool.release(*first);
  EXPECT_TRUE(pool.acquire(*slab.make(), BatchId{3}));
  pool.verify();
}

}  // namespace
}  // namespace quire::control
