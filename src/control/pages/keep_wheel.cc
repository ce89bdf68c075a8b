#include "control/pages/keep_wheel.h"

#include <algorithm>

#include "base/check.h"

namespace quire::control {
namespace {

constexpr std::uint64_t kNsOfSecond = 1'000'000'000;

}  // namespace

KeepWheel::KeepWheel(std::uint32_t entry_count)
    : links_(entry_count), slots_(kSlotCount, kNoEntry) {}

void KeepWheel::put(EntryId entry, std::uint64_t seconds, std::uint64_t now_ns) {
  QUIRE_CHECK(!has(entry), "kept twice");
  const std::uint64_t now = now_ns / kNsOfSecond;
  QUIRE_CHECK(second_ >= now, "advanced first");
  const std::uint64_t end = second_ + std::min(seconds, kKeepSecondsMax) + 1;
  Link& link = links_[index_of(entry)];
  link.slot = static_cast<std::uint32_t>(end % kSlotCount);
  link.next = slots_[link.slot];
  if (link.next != kNoEntry) links_[index_of(link.next)].previous = entry;
  slots_[link.slot] = entry;
  ++count_;
}

void KeepWheel::erase(EntryId entry) {
  QUIRE_CHECK(has(entry), "not kept");
  const Link link = links_[index_of(entry)];
  (link.previous == kNoEntry ? slots_[link.slot] : links_[index_of(link.previous)].next) =
      link.next;
  if (link.next != kNoEntry) links_[index_of(link.next)].previous = link.previous;
  links_[index_of(entry)] = {};
  --count_;
}

void KeepWheel::advance(std::uint64_t now_ns, std::vector<EntryId>& ended) {
  const std::uint64_t now = now_ns / kNsOfSecond;
  for (; second_ < now && count_ > 0; ++second_) {
    EntryId& first = slots_[(second_ + 1) % kSlotCount];
    while (first != kNoEntry) {
      ended.push_back(first);
      erase(first);
    }
  }
  second_ = std::max(second_, now);
}

void KeepWheel::verify() const {
  std::uint32_t found = 0;
  for (std::uint32_t slot = 0; slot < kSlotCount; ++slot) {
    EntryId previous = kNoEntry;
    for (EntryId entry = slots_[slot]; entry != kNoEntry; entry = links_[index_of(entry)].next) {
      QUIRE_CHECK(links_[index_of(entry)].slot == slot, "kept where it says");
      QUIRE_CHECK(links_[index_of(entry)].previous == previous, "links agree");
      previous = entry;
      ++found;
    }
  }
  QUIRE_CHECK(found == count_, "the count of kept entries");
}

}  // namespace quire::control
