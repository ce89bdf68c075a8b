#pragma once
// StateStore: the states that the device keeps, of a model with recurrent layers (api/batch.h).
// models/state_layout.h says what lies in one.
//
// Owns     the slots.  Thread  device thread and its workers, who write disjoint parts.
// Errors   Unavailable when memory cannot be reserved.
#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

#include "base/check.h"
#include "inference/api/types.h"
#include "inference/memory/mapped_memory.h"
#include "inference/models/state_layout.h"

namespace quire::inference {

class StateStore {
 public:
  static Result<StateStore> create(const StateLayout& layout, std::uint32_t slot_count) {
    MappedMemory memory = TRY(MappedMemory::create(slot_count * layout.bytes()));
    return StateStore(std::move(memory), layout, slot_count);
  }

  std::uint32_t slot_count() const { return slot_count_; }  // 0: the model has no states.
  std::byte* at(StateSlot slot) const {
    QUIRE_CHECK(static_cast<std::uint32_t>(slot) < slot_count_, "a state slot lies in the store");
    return memory_.data() + static_cast<std::uint32_t>(slot) * bytes_;
  }
  // The output of the last row: [embedding_width].
  float* output(StateSlot slot) const {
    return reinterpret_cast<float*>(at(slot) + output_offset_);
  }
  // All of a state, from and to bytes of its size. Of different slots several may run at once.
  void load(StateSlot slot, std::span<const std::byte> bytes) {
    QUIRE_CHECK(bytes.size() == bytes_, "the bytes of a state");
    std::copy(bytes.begin(), bytes.end(), at(slot));
  }
  void save(StateSlot slot, std::span<std::byte> bytes) const {
    QUIRE_CHECK(bytes.size() == bytes_, "the bytes of a state");
    std::copy_n(at(slot), bytes_, bytes.begin());
  }

 private:
  StateStore(MappedMemory memory, const StateLayout& layout, std::uint32_t slot_count)
      : memory_(std::move(memory)),
        bytes_(layout.bytes()),
        output_offset_(layout.output_offset()),
        slot_count_(slot_count) {}

  MappedMemory memory_;
  std::size_t bytes_;
  std::size_t output_offset_;
  std::uint32_t slot_count_;
};

}  // namespace quire::inference
