#pragma once
// PageBytes: what one page holds, on its way between the device and another tier.
//
// The bytes begin with the keys and values of all layers for every slot of the page, in the layout
// and number format of the backend. What else the backend keeps for each slot (its position)
// follows. The byte order is that of this machine. The number of bytes is
// BackendCapabilities::page_bytes, the same for every page. Only a backend looks inside.
//
// The bytes do not say what they are. They are valid only for a backend of the same model digest,
// numerics id, KV format and page size. A tier that keeps them therefore keeps these alongside, and
// a checksum. Such a backend can load them into any page, and that page gives the same logits, bit
// for bit, as the saved one.
//
// Owns     its memory, which is not zeroed first: a page is some 100 KB to some MB, and every byte
//          is about to be written. Moved, never copied by accident.
// Thread   that of its owner.
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <utility>

namespace quire::inference {

class PageBytes {
 public:
  PageBytes() = default;  // No bytes.
  // So many bytes of unspecified value.
  static PageBytes uninitialised(std::size_t byte_count) {
    return PageBytes(std::make_unique_for_overwrite<std::byte[]>(byte_count), byte_count);
  }
  PageBytes(PageBytes&& other) noexcept
      : memory_(std::move(other.memory_)), byte_count_(std::exchange(other.byte_count_, 0)) {}
  PageBytes& operator=(PageBytes&& other) noexcept {
    memory_ = std::move(other.memory_);
    byte_count_ = std::exchange(other.byte_count_, 0);
    return *this;
  }

  std::size_t byte_count() const { return byte_count_; }
  std::span<std::byte> span() { return {memory_.get(), byte_count_}; }
  std::span<const std::byte> span() const { return {memory_.get(), byte_count_}; }
  // A second buffer with the same bytes; spelled out because it costs as much as the transfer.
  PageBytes copy() const {
    PageBytes same = uninitialised(byte_count_);
    if (byte_count_ > 0) std::memcpy(same.memory_.get(), memory_.get(), byte_count_);
    return same;
  }

 private:
  PageBytes(std::unique_ptr<std::byte[]> memory, std::size_t byte_count)
      : memory_(std::move(memory)), byte_count_(byte_count) {}

  std::unique_ptr<std::byte[]> memory_;
  std::size_t byte_count_ = 0;
};

}  // namespace quire::inference
