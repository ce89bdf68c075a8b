#pragma once
// SlotPool hands out small numbers of the device (embed slots) and takes them back behind a fence:
// a slot that a batch may touch is not given out again before that batch has completed.
//
// Thread   engine thread only.
// Errors   allocate() gives nothing when every slot is taken.
#include <cstdint>
#include <deque>
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
    free_.pop_back();
    return slot;
  }
  void release(Id slot) {
    if (newest_ > completed_) {
      fenced_.push_back({slot, newest_});
    } else {
      free_.push_back(slot);
    }
    QUIRE_CHECK(free_.size() + fenced_.size() <= slot_count_, "a slot was released twice");
  }

  void open_batch(inference::BatchId batch) { newest_ = static_cast<std::uint64_t>(batch); }
  void complete_batch(inference::BatchId batch) {
    completed_ = static_cast<std::uint64_t>(batch);
    while (!fenced_.empty() && fenced_.front().fence <= completed_) {
      free_.push_back(fenced_.front().slot);
      fenced_.pop_front();
    }
  }

  std::uint32_t slot_count() const { return slot_count_; }
  std::uint32_t taken_count() const {
    return slot_count_ - static_cast<std::uint32_t>(free_.size() + fenced_.size());
  }
  std::uint32_t free_count() const { return static_cast<std::uint32_t>(free_.size()); }

 private:
  struct Fenced {
    Id slot;
    std::uint64_t fence;
  };
  std::uint32_t slot_count_;
  std::vector<Id> free_;
  std::deque<Fenced> fenced_;
  std::uint64_t newest_ = 0;
  std::uint64_t completed_ = 0;
};

}  // namespace quire::control
