#pragma once
// MappedMemory: anonymous memory from the kernel, zero until touched and resident only then, with
// large pages asked for. For what is big and lives as long as its owner.
//
// Errors   Unavailable when the address space or its limit does not allow so much.
#include <cstddef>
#include <span>
#include <utility>

#include "base/result.h"

namespace quire::inference {

class MappedMemory {
 public:
  static Result<MappedMemory> create(std::size_t bytes);
  MappedMemory() = default;
  MappedMemory(MappedMemory&& other) noexcept
      : base_(std::exchange(other.base_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  MappedMemory& operator=(MappedMemory&& other) noexcept {
    std::swap(base_, other.base_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~MappedMemory();

  std::byte* data() const { return base_; }  // At least 4096-byte aligned.
  std::size_t bytes() const { return bytes_; }

 private:
  MappedMemory(std::byte* base, std::size_t bytes) : base_(base), bytes_(bytes) {}
  std::byte* base_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace quire::inference
