#include "control/pages/s3_fifo_policy.h"

#include <algorithm>

namespace quire::control {
namespace {

constexpr std::uint32_t kSmallShare = 10;  // The small queue holds one entry in so many.
constexpr std::uint8_t kHitCountMax = 3;

}  // namespace

S3FifoPolicy::S3FifoPolicy(std::uint32_t entry_count)
    : entries_(entry_count), ghosts_(entry_count) {}

void S3FifoPolicy::inserted(EntryId entry, std::uint64_t content_hash) {
  const bool is_known = ghosts_.take(content_hash).has_value();
  at(entry) = {.content_hash = content_hash, .queue = is_known ? kMain : kSmall};
}

void S3FifoPolicy::hit(EntryId entry) {
  at(entry).hit_count = std::min<std::uint8_t>(kHitCountMax, at(entry).hit_count + 1);
}

std::uint32_t S3FifoPolicy::gone_cold(EntryId entry, const ColdFacts&) {
  return at(entry).queue;
}

Choice S3FifoPolicy::choose(std::span<const QueueHead> heads) {
  ++step_count_;
  std::uint32_t entry_count = 0;
  for (const QueueHead& head : heads) entry_count += head.entry_count;
  const bool has_small = heads.front().queue == kSmall;
  const bool has_main = heads.back().queue == kMain;
  const bool takes_small =
      has_small && (!has_main || heads.front().entry_count > entry_count / kSmallShare);
  const std::uint32_t index = takes_small ? 0 : static_cast<std::uint32_t>(heads.size() - 1);
  Entry& entry = at(heads[index].entry);
  if (entry.hit_count == 0) return {.head_index = index};
  promote(entry);
  return {.head_index = index, .action = Choice::Action::Requeue, .queue = kMain};
}

void S3FifoPolicy::promote(Entry& entry) {
  entry.hit_count = entry.queue == kSmall ? 0 : entry.hit_count - 1;
  entry.queue = kMain;
}

std::optional<std::uint32_t> S3FifoPolicy::passed_over(EntryId entry, std::uint32_t) {
  ++step_count_;
  if (at(entry).hit_count == 0) return std::nullopt;
  promote(at(entry));
  return kMain;
}

void S3FifoPolicy::evicted(EntryId entry) {
  if (at(entry).queue == kSmall) ghosts_.put(at(entry).content_hash, 0);
}

void S3FifoPolicy::removed(EntryId entry) {
  at(entry) = {};
}

}  // namespace quire::control
