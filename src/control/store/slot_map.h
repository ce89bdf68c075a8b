#pragma once
// SlotMap: which slots of one page file are taken. Hands out the lowest free one, so that the file
// can be cut at its end.
//
// Thread   the store's thread.
#include <cstdint>
#include <vector>

#include "base/check.h"

namespace quire::store {

inline constexpr std::uint64_t kSlotCountMax = std::uint64_t{1} << 26;

class SlotMap {
 public:
  // Slots from 0 to the last one that is taken.
  std::uint64_t slot_count() const { return taken_.size(); }
  std::uint64_t taken_count() const { return taken_count_; }
  std::uint64_t free_count() const { return taken_.size() - taken_count_; }
  bool is_taken(std::uint64_t slot) const { return slot < taken_.size() && taken_[slot]; }

  // False if the slot is taken or beyond the limit: an index that says so is damaged.
  bool occupy(std::uint64_t slot) {
    if (slot >= kSlotCountMax || is_taken(slot)) return false;
    if (slot >= taken_.size()) taken_.resize(slot + 1, false);
    taken_[slot] = true;
    ++taken_count_;
    return true;
  }

  // kSlotCountMax if all are taken.
  std::uint64_t take() {
    while (first_free_hint_ < taken_.size() && taken_[first_free_hint_]) ++first_free_hint_;
    const std::uint64_t slot = first_free_hint_;
    return occupy(slot) ? slot : kSlotCountMax;
  }

  void give_back(std::uint64_t slot) {
    QUIRE_CHECK(is_taken(slot), "a slot is given back once");
    taken_[slot] = false;
    --taken_count_;
    if (slot < first_free_hint_) first_free_hint_ = slot;
    while (!taken_.empty() && !taken_.back()) taken_.pop_back();
  }

 private:
  std::vector<bool> taken_;
  std::uint64_t taken_count_ = 0;
  std::uint64_t first_free_hint_ = 0;  // No slot below it is free.
};

}  // namespace quire::store
