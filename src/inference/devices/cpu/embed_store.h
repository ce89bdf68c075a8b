#pragma once
// EmbedStore: the embedding vectors that the device keeps: outputs on request, and inputs.
//
// Owns     the vectors.  Thread  device thread and its workers, who write disjoint slots.
// Errors   Unavailable when memory cannot be reserved.
#include <cstdint>
#include <vector>

#include "inference/api/types.h"
#include "inference/memory/mapped_memory.h"

namespace quire::inference {

class EmbedStore {
 public:
  static Result<EmbedStore> create(std::uint32_t slot_count, std::uint32_t width) {
    MappedMemory memory =
        TRY(MappedMemory::create(std::size_t{slot_count} * width * sizeof(float)));
    return EmbedStore(std::move(memory), slot_count, width);
  }

  // Null for a slot that holds no vector.
  const float* find(EmbedSlot slot) const {
    return written_[static_cast<std::uint32_t>(slot)] != 0 ? at(slot) : nullptr;
  }
  // The slot's memory, to be filled in this batch.
  float* write(EmbedSlot slot) {
    written_[static_cast<std::uint32_t>(slot)] = 1;
    return at(slot);
  }

  // The vector could not be written, and the old one must not be read.
  void forget(EmbedSlot slot) { written_[static_cast<std::uint32_t>(slot)] = 0; }

 private:
  EmbedStore(MappedMemory memory, std::uint32_t slot_count, std::uint32_t width)
      : memory_(std::move(memory)), written_(slot_count, 0), width_(width) {}
  float* at(EmbedSlot slot) const {
    return reinterpret_cast<float*>(memory_.data()) +
           std::size_t{static_cast<std::uint32_t>(slot)} * width_;
  }

  MappedMemory memory_;
  std::vector<std::uint8_t> written_;
  std::uint32_t width_;
};

}  // namespace quire::inference
