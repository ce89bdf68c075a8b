#pragma once
// SlotView is which logical slots of a context can no longer be seen, and since when.
//
// A SlotSet is a set of slots as sorted, disjoint ranges that do not touch. A SlotView remembers
// how the set of dropped slots grew while slots were written, because a page's bits depend on what
// its tokens saw. `encode` gives the part that belongs into a page's name; it is empty if nothing
// had been dropped yet.
//
// Encoding, little endian: one record for each stretch of the page's slots that saw one set. It has
// the offset of its first slot in the page (4 bytes) and the count of ranges (4), then begin and
// end of each range (4, 4). A first stretch that saw everything is left out, and equal adjacent
// stretches are one.
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace quire::control {

// Bits of `count` slots of a page from `first` on, together at most 32.
inline std::uint32_t slot_bits(std::uint32_t first, std::uint32_t count) {
  return count == 0 ? 0 : (0xffffffffu >> (32 - count)) << first;
}

struct SlotRange {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  bool operator==(const SlotRange&) const = default;
};

class SlotSet {
 public:
  bool empty() const { return ranges_.empty(); }
  std::span<const SlotRange> ranges() const { return ranges_; }
  void add(SlotRange range);
  void clip(std::uint32_t end);  // Forgets slots from `end` on.
  bool contains(std::uint32_t slot) const;
  // Whether all of [begin, end) is in the set.
  bool covers(SlotRange range) const;
  std::uint64_t count() const;  // Slots in the set.
  // The first slot that is not in the set.
  std::uint32_t first_outside() const;
  // Bit i: slot first + i is not in the set; for `count` slots, at most 32.
  std::uint32_t visible_bits(std::uint32_t first, std::uint32_t count) const;
  // The parts of `range` that are not in the set.
  std::vector<SlotRange> missing(SlotRange range) const;
  bool operator==(const SlotSet&) const = default;

 private:
  std::vector<SlotRange> ranges_;
};

class SlotView {
 public:
  const SlotSet& dropped() const { return dropped_; }
  bool is_plain() const { return dropped_.empty() && changes_.empty(); }

  // These slots are not seen by what is written from slot `written` on.
  void drop(const SlotSet& slots, std::uint32_t written);
  void drop(SlotRange range, std::uint32_t written);
  // The slots before `slot` are committed: their part of the history is never asked for again.
  void forget_before(std::uint32_t slot);
  // The context now ends at `length`, after the first slot that is remembered. What was dropped
  // stays dropped.
  void truncate(std::uint32_t length);
  // The context now ends at `length`, in a page that begins at `page_first` and whose own part of
  // the history is `encoded`.
  void rewind(std::uint32_t length, std::uint32_t page_first,
              std::span<const std::uint8_t> encoded);

  // Appends all of it: count of changes, then for each its slot, count of ranges and the ranges;
  // the last is what is dropped now (4-byte numbers). Back: nothing if the bytes contradict
  // themselves or speak of slots beyond `length`, or a change of slots that it came before.
  void serialise(std::vector<std::uint8_t>& bytes) const;
  static std::optional<SlotView> deserialise(std::span<const std::uint8_t> bytes,
                                             std::uint32_t length);

  std::vector<std::uint8_t> encode(std::uint32_t page_first, std::uint32_t page_size) const;
  // Whether encode() could have given these bytes for a page of `page_size` slots from `page_first`
  // on: to be asked of what comes from a file.
  static bool is_encoding(std::span<const std::uint8_t> encoded, std::uint32_t page_first,
                          std::uint32_t page_size);
  // Slots of the page that its own part of the history leaves visible, bit i for the i-th: the
  // other slots were dropped, and may never have been written. Requires: is_encoding().
  static std::uint32_t visible_bits(std::span<const std::uint8_t> encoded, std::uint32_t page_first,
                                    std::uint32_t page_size);

 private:
  struct Change {
    std::uint32_t slot = 0;  // First slot that was written under `dropped`.
    SlotSet dropped;
  };
  // Nothing if the bytes contradict themselves.
  static std::optional<std::vector<Change>> decode(std::span<const std::uint8_t> encoded,
                                                   std::uint32_t page_first);
  void note(std::uint32_t slot);

  SlotSet dropped_;              // Now.
  std::vector<Change> changes_;  // By rising slot.
};

}  // namespace quire::control
