#pragma once
// DeviceTable is what the device has of a context's page table, by index of entry.
//
// Thread   engine thread only.
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "control/pages/slot_view.h"
#include "inference/api/batch.h"

namespace quire::control {

inline constexpr inference::SequenceId kNoSequence{0xffffffffu};

class DeviceTable {
 public:
  inference::SequenceId sequence() const { return sequence_; }
  // Entries that the device has, except for those that are dirty.
  std::uint32_t clean_count() const { return clean_count_; }
  std::span<const SlotRange> dirty() const { return dirty_; }

  void begin(inference::SequenceId sequence) {
    sequence_ = sequence;
    clean_count_ = 0;
  }
  void end() { begin(kNoSequence); }
  // Entries [first, end) are no longer what the device has.
  void mark_dirty(std::uint32_t first, std::uint32_t end) {
    end = std::min(end, clean_count_);
    if (first >= end) return;
    if (end == clean_count_) {
      clean_count_ = first;
      return;
    }
    dirty_.push_back({first, end});
  }
  // Entries from `first` on are no longer what the device has.
  void cut(std::uint32_t first) { clean_count_ = std::min(clean_count_, first); }
  void clear_dirty() { dirty_.clear(); }
  void note_clean(std::uint32_t count) { clean_count_ = count; }

 private:
  inference::SequenceId sequence_ = kNoSequence;
  std::uint32_t clean_count_ = 0;
  std::vector<SlotRange> dirty_;
};

}  // namespace quire::control
