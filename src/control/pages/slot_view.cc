#include "control/pages/slot_view.h"

#include <algorithm>

#include "base/check.h"

namespace quire::control {
namespace {

void put(std::vector<std::uint8_t>& bytes, std::uint32_t value) {
  for (int shift = 0; shift < 32; shift += 8)
    bytes.push_back(static_cast<std::uint8_t>(value >> shift));
}

std::uint32_t get(std::span<const std::uint8_t> bytes, std::size_t& at) {
  QUIRE_CHECK(at + 4 <= bytes.size(), "a view of our own is cut short");
  std::uint32_t value = 0;
  for (int shift = 0; shift < 32; shift += 8) value |= std::uint32_t{bytes[at++]} << shift;
  return value;
}

bool has_words(std::span<const std::uint8_t> bytes, std::size_t at, std::uint64_t words) {
  return (bytes.size() - at) / 4 >= words;
}

// A count of ranges and the ranges, of slots before `end`; nothing if they contradict themselves.
std::optional<SlotSet> get_set(std::span<const std::uint8_t> bytes, std::size_t& at,
                               std::uint32_t end) {
  const std::uint32_t count = get(bytes, at);
  if (!has_words(bytes, at, std::uint64_t{2} * count)) return std::nullopt;
  SlotSet set;
  std::uint64_t before = 0;
  for (std::uint32_t each = 0; each < count; ++each) {
    const SlotRange range{.begin = get(bytes, at), .end = get(bytes, at)};
    const bool is_apart = each == 0 || range.begin > before;
    if (!is_apart || range.begin >= range.end || range.end > end) return std::nullopt;
    set.add(range);
    before = range.end;
  }
  return set;
}

}  // namespace

void SlotSet::add(SlotRange range) {
  if (range.begin >= range.end) return;
  // Ranges that touch the new range become one with it.
  const auto first =
      std::lower_bound(ranges_.begin(), ranges_.end(), range.begin,
                       [](const SlotRange& each, std::uint32_t slot) { return each.end < slot; });
  auto last = first;
  while (last != ranges_.end() && last->begin <= range.end) {
    range.begin = std::min(range.begin, last->begin);
    range.end = std::max(range.end, last->end);
    ++last;
  }
  ranges_.insert(ranges_.erase(first, last), range);
}

void SlotSet::clip(std::uint32_t end) {
  while (!ranges_.empty() && ranges_.back().begin >= end) ranges_.pop_back();
  if (!ranges_.empty()) ranges_.back().end = std::min(ranges_.back().end, end);
}

bool SlotSet::contains(std::uint32_t slot) const {
  return covers({slot, slot + 1});
}

bool SlotSet::covers(SlotRange range) const {
  const auto after =
      std::upper_bound(ranges_.begin(), ranges_.end(), range.begin,
                       [](std::uint32_t slot, const SlotRange& each) { return slot < each.begin; });
  return after != ranges_.begin() && std::prev(after)->end >= range.end;
}

std::uint64_t SlotSet::count() const {
  std::uint64_t sum = 0;
  for (const SlotRange& each : ranges_) sum += each.end - each.begin;
  return sum;
}

std::uint32_t SlotSet::first_outside() const {
  return ranges_.empty() || ranges_.front().begin > 0 ? 0 : ranges_.front().end;
}

std::uint32_t SlotSet::visible_bits(std::uint32_t first, std::uint32_t count) const {
  std::uint32_t bits = slot_bits(0, count);
  auto each =
      std::upper_bound(ranges_.begin(), ranges_.end(), first,
                       [](std::uint32_t slot, const SlotRange& range) { return slot < range.end; });
  for (; each != ranges_.end() && each->begin < first + count; ++each) {
    const std::uint32_t begin = std::max(each->begin, first) - first;
    const std::uint32_t end = std::min(each->end, first + count) - first;
    bits &= ~slot_bits(begin, end - begin);
  }
  return bits;
}

std::vector<SlotRange> SlotSet::missing(SlotRange range) const {
  std::vector<SlotRange> parts;
  std::uint32_t at = range.begin;
  auto each =
      std::upper_bound(ranges_.begin(), ranges_.end(), at,
                       [](std::uint32_t slot, const SlotRange& other) { return slot < other.end; });
  for (; each != ranges_.end() && each->begin < range.end; ++each) {
    if (each->begin > at) parts.push_back({at, each->begin});
    at = each->end;
  }
  if (at < range.end) parts.push_back({at, range.end});
  return parts;
}

void SlotView::drop(SlotRange range, std::uint32_t written) {
  SlotSet slots;
  slots.add(range);
  drop(slots, written);
}

void SlotView::drop(const SlotSet& slots, std::uint32_t written) {
  SlotSet next = dropped_;
  for (const SlotRange& range : slots.ranges()) next.add(range);
  if (next == dropped_) return;
  dropped_ = next;
  if (!changes_.empty() && changes_.back().slot == written) {
    changes_.back().dropped = std::move(next);
  } else {
    changes_.push_back({.slot = written, .dropped = std::move(next)});
  }
}

void SlotView::forget_before(std::uint32_t slot) {
  std::size_t kept = changes_.size();
  while (kept > 0 && changes_[kept - 1].slot > slot) --kept;
  // The last change up to `slot` still holds for it.
  if (kept > 1)
    changes_.erase(changes_.begin(), changes_.begin() + static_cast<std::ptrdiff_t>(kept - 1));
}

void SlotView::truncate(std::uint32_t length) {
  dropped_.clip(length);
  while (!changes_.empty() && changes_.back().slot >= length) changes_.pop_back();
  note(length);
}

// Records that tokens written from `slot` on see all but the slots that are dropped now.
void SlotView::note(std::uint32_t slot) {
  const bool is_same = changes_.empty() ? dropped_.empty() : changes_.back().dropped == dropped_;
  if (!is_same) changes_.push_back({.slot = slot, .dropped = dropped_});
}

void SlotView::rewind(std::uint32_t length, std::uint32_t page_first,
                      std::span<const std::uint8_t> encoded) {
  dropped_.clip(length);
  std::optional<std::vector<Change>> changes = decode(encoded, page_first);
  QUIRE_CHECK(changes.has_value(), "a view of our own contradicts itself");
  changes_ = *std::move(changes);
  while (!changes_.empty() && changes_.back().slot >= length) changes_.pop_back();
  note(length);
}

std::vector<std::uint8_t> SlotView::encode(std::uint32_t page_first,
                                           std::uint32_t page_size) const {
  std::vector<std::uint8_t> bytes;
  const SlotSet none;
  const SlotSet* before = &none;
  for (std::size_t index = 0; index < changes_.size(); ++index) {
    const Change& change = changes_[index];
    if (change.slot >= page_first + page_size) break;
    const bool is_last_before =
        index + 1 == changes_.size() || changes_[index + 1].slot > page_first;
    if (change.slot <= page_first && !is_last_before) continue;
    if (change.dropped == *before) continue;
    before = &change.dropped;
    put(bytes, change.slot <= page_first ? 0 : change.slot - page_first);
    put(bytes, static_cast<std::uint32_t>(change.dropped.ranges().size()));
    for (const SlotRange& range : change.dropped.ranges()) {
      put(bytes, range.begin);
      put(bytes, range.end);
    }
  }
  return bytes;
}

std::optional<std::vector<SlotView::Change>> SlotView::decode(std::span<const std::uint8_t> encoded,
                                                              std::uint32_t page_first) {
  std::vector<Change> changes;
  for (std::size_t at = 0; at < encoded.size();) {
    if (!has_words(encoded, at, 2)) return std::nullopt;
    const std::uint64_t slot = std::uint64_t{page_first} + get(encoded, at);
    const bool rises = changes.empty() || changes.back().slot < slot;
    if (!rises || slot > UINT32_MAX) return std::nullopt;
    std::optional<SlotSet> dropped = get_set(encoded, at, static_cast<std::uint32_t>(slot));
    if (!dropped) return std::nullopt;
    changes.push_back({.slot = static_cast<std::uint32_t>(slot), .dropped = *std::move(dropped)});
  }
  return changes;
}

bool SlotView::is_encoding(std::span<const std::uint8_t> encoded, std::uint32_t page_first,
                           std::uint32_t page_size) {
  const std::optional<std::vector<Change>> changes = decode(encoded, page_first);
  return changes && (changes->empty() || changes->back().slot - page_first < page_size);
}

std::uint32_t SlotView::visible_bits(std::span<const std::uint8_t> encoded,
                                     std::uint32_t page_first, std::uint32_t page_size) {
  const std::optional<std::vector<Change>> changes = decode(encoded, page_first);
  QUIRE_CHECK(changes.has_value(), "a view of our own contradicts itself");
  // A dropped slot stays dropped for all later tokens, so the last set has all.
  const SlotSet none;
  return (changes->empty() ? none : changes->back().dropped).visible_bits(page_first, page_size);
}

void SlotView::serialise(std::vector<std::uint8_t>& bytes) const {
  put(bytes, static_cast<std::uint32_t>(changes_.size() + 1));
  const auto put_set = [&](std::uint32_t slot, const SlotSet& set) {
    put(bytes, slot);
    put(bytes, static_cast<std::uint32_t>(set.ranges().size()));
    for (const SlotRange& range : set.ranges()) {
      put(bytes, range.begin);
      put(bytes, range.end);
    }
  };
  for (const Change& change : changes_) put_set(change.slot, change.dropped);
  put_set(0, dropped_);
}

std::optional<SlotView> SlotView::deserialise(std::span<const std::uint8_t> bytes,
                                              std::uint32_t length) {
  std::size_t at = 0;
  if (!has_words(bytes, at, 1)) return std::nullopt;
  const std::uint32_t count = get(bytes, at);
  SlotView view;
  for (std::uint32_t index = 0; index < count; ++index) {
    if (!has_words(bytes, at, 2)) return std::nullopt;
    const std::uint32_t slot = get(bytes, at);
    const bool is_last = index + 1 == count;
    std::optional<SlotSet> dropped = get_set(bytes, at, is_last ? length : std::min(slot, length));
    if (!dropped) return std::nullopt;
    if (is_last) {
      view.dropped_ = *std::move(dropped);
      continue;
    }
    const bool rises = view.changes_.empty() || view.changes_.back().slot < slot;
    if (!rises || slot > length) return std::nullopt;
    view.changes_.push_back({.slot = slot, .dropped = *std::move(dropped)});
  }
  if (count == 0 || at != bytes.size()) return std::nullopt;
  return view;
}

}  // namespace quire::control
