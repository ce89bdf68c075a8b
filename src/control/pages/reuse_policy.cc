#include "control/pages/reuse_policy.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace quire::control {
namespace {

constexpr std::uint32_t kGhostsOfEntry = 4;
constexpr std::uint32_t kUseClassCount = 3;     // Never, once, more often.
constexpr std::uint32_t kLengthClassCount = 8;  // Up to 3 pages, 15, 63, ... 16,383, more.
constexpr std::uint32_t kTailClassCount = 2;
constexpr std::uint32_t kClassCount = kUseClassCount * kLengthClassCount * kTailClassCount;
// The first guess of how likely used pages are used again, against pages that were not used. On the
// trace and its variants (docs/internals/eviction.md) 4 to 16 do equally well. 1 is 0.8 points
// worse.
constexpr double kGuessOfUsed = 8.0;
static_assert(kClassCount <= kQueueCountMax);

std::uint32_t class_of(std::uint32_t use_count, const ColdFacts& facts) {
  const std::uint32_t length = std::min(
      kLengthClassCount - 1,
      static_cast<std::uint32_t>(std::bit_width(std::max(1u, facts.chain_page_count)) - 1) / 2);
  const std::uint32_t use = std::min(kUseClassCount - 1, use_count);
  return (length * kUseClassCount + use) * kTailClassCount + (facts.is_tail ? 1 : 0);
}

std::vector<double> guesses() {
  std::vector<double> guesses(kClassCount, 1.0);
  for (std::uint32_t index = 0; index < kClassCount; ++index) {
    if (index / kTailClassCount % kUseClassCount > 0) guesses[index] = kGuessOfUsed;
  }
  return guesses;
}

// A ghost's word: 32 bits of start slot, 16 of class, 16 of uses.
std::uint64_t word_of(const ReuseStatistics::Life& life, std::uint8_t use_count) {
  return std::uint64_t{life.start_slot} << 32 | std::uint64_t{life.reuse_class} << 16 | use_count;
}
ReuseStatistics::Life life_of(std::uint64_t word) {
  return {.reuse_class = static_cast<std::uint16_t>(word >> 16),
          .start_slot = static_cast<std::uint32_t>(word >> 32)};
}

std::uint8_t one_more(std::uint8_t use_count) {
  return use_count == 0xff ? use_count : static_cast<std::uint8_t>(use_count + 1);
}

}  // namespace

ReusePolicy::ReusePolicy(std::uint32_t entry_count)
    : entries_(entry_count),
      ghosts_(entry_count * kGhostsOfEntry),
      statistics_(guesses(), entry_count) {}

std::uint32_t ReusePolicy::queue_count() const {
  return kClassCount;
}

void ReusePolicy::inserted(EntryId entry, std::uint64_t content_hash) {
  Entry& one = at(entry);
  one = {};
  one.content_hash = content_hash;
  const std::optional<std::uint64_t> ghost = ghosts_.take(content_hash);
  if (!ghost) return;
  statistics_.end(life_of(*ghost), true);
  one.use_count = one_more(static_cast<std::uint8_t>(*ghost));
}

void ReusePolicy::hit(EntryId entry) {
  Entry& one = at(entry);
  if (one.is_cold) statistics_.end(one.life, true);
  one.is_cold = false;
  one.use_count = one_more(one.use_count);
}

std::uint32_t ReusePolicy::gone_cold(EntryId entry, const ColdFacts& facts) {
  Entry& one = at(entry);
  QUIRE_CHECK(!one.is_cold, "turned cold twice");
  one.is_cold = true;
  one.life = statistics_.begin(class_of(one.use_count, facts));
  return one.life.reuse_class;
}

Choice ReusePolicy::choose(std::span<const QueueHead> heads) {
  Choice choice;
  double least = 0.0;
  for (std::uint32_t index = 0; index < heads.size(); ++index) {
    const double worth = statistics_.worth(at(heads[index].entry).life);
    if (index > 0 && worth >= least) continue;
    least = worth;
    choice.head_index = index;
  }
  step_count_ += heads.size();
  return choice;
}

void ReusePolicy::evicted(EntryId entry) {
  Entry& one = at(entry);
  const auto dropped = ghosts_.put(one.content_hash, word_of(one.life, one.use_count));
  if (dropped) statistics_.end(life_of(*dropped), false);
  one = {};
}

void ReusePolicy::removed(EntryId entry) {
  Entry& one = at(entry);
  if (one.is_cold) statistics_.end(one.life, false);
  one = {};
}

std::uint64_t ReusePolicy::step_count() const {
  return step_count_ + ghosts_.step_count() + statistics_.step_count();
}

void ReusePolicy::verify() const {
  ghosts_.verify();
  statistics_.verify();
}

}  // namespace quire::control
