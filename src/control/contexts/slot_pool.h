#pragma once
// SlotPool hands out small numbers of the device (embed slots) and takes them back through a fence:
// a slot that a batch may touch is not given out again before that batch has completed.
//
// Thread   engine thread only.
// Errors   allocate() gives nothing when every slot is taken.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/check.h"
#include "inference/api/types.h"

namespace quire::control {

template <typename Id>
class SlotPool {
 public:
  explicit SlotPool(std::uint32_t slot_count) : slot_count_(slot_count) {
    free_.reserve(slot_count);
    for (std::uint32_t index = slot_count; index > 0; --index) free_.push_back(Id{index - 1});
  }

  std::optional<Id> allocate() {
    if (free_.empty()) return std::nullopt;
    const Id slot = free_.back();
    __builtin_prefetch(free_.data() + free_.size() - std::min(free_.size(), kFetchAhead));
    free_.pop_back();
    return slot;
  }
  void release(Id slot) {
    if (newest_ > completed_) {
      fenced_.push_back({slot, newest_});
    } else {
      free_.push_back(slot);
    }
    QUIRE_CHECK(free_.size() + fenced_count() <= slot_count_, "a slot was released twice");
  }

  void open_batch(inference::BatchId batch) { newest_ = static_cast<std::uint64_t>(batch); }
  void complete_batch(inference::BatchId batch) {
    completed_ = static_cast<std::uint64_t>(batch);
    while (fenced_first_ < fenced_.size() && fenced_[fenced_first_].fence <= completed_) {
      free_.push_back(fenced_[fenced_first_++].slot);
    }
    if (fenced_first_ < fenced_.size()) return;
    fenced_.clear();
    fenced_first_ = 0;
  }

  std::uint32_t slot_count() const { return slot_count_; }
  std::uint32_t taken_count() const {
    return slot_count_ - static_cast<std::uint32_t>(free_.size() + fenced_count());
  }
  std::uint32_t free_count() const { return static_cast<std::uint32_t>(free_.size()); }
  // Free slots, and those that are free after a batch that is under way or being built.
  std::uint32_t free_count_soon() const { return slot_count_ - taken_count(); }

 private:
  struct Fenced {
    Id slot;
    std::uint64_t fence;
  };
  static constexpr std::size_t kFetchAhead = 48;  // Slots: three lines.
  std::size_t fenced_count() const { return fenced_.size() - fenced_first_; }

  std::uint32_t slot_count_;
  std::vector<Id> free_;
  std::vector<Fenced> fenced_;  // From fenced_first_ on, by rising fence.
  std::size_t fenced_first_ = 0;
  std::uint64_t newest_ = 0;
  std::uint64_t completed_ = 0;
};

}  // namespace quire::control
