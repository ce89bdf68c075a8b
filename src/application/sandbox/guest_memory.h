#pragma once
// A host function's view of its guest: raw values, and checked ranges of the linear memory.
//
// Invariant  A span is given out only when [address, address + bytes) lies inside the memory as it
//            is now; the sum is made in 64 bits, so it cannot wrap.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "base/result.h"

namespace quire::sandbox {

// One Wasm argument or result, laid out as the runtime lays it out (16 bytes, little endian).
struct alignas(8) RawValue {
  unsigned char bytes[16];

  template <typename T>
  T as() const {
    static_assert(std::is_arithmetic_v<T>);
    T value;
    std::memcpy(&value, bytes, sizeof value);
    return value;
  }
  template <typename T>
  void set(T value) {
    static_assert(std::is_arithmetic_v<T>);
    std::memcpy(bytes, &value, sizeof value);
  }
};

// The lowered arguments of a call, as interface/ types them.
enum class GuestAddress : std::uint32_t {};
enum class GuestHandle : std::int32_t {};
template <typename T>
struct GuestList {
  GuestAddress address{};
  std::uint32_t count = 0;
};

class GuestMemory {
 public:
  GuestMemory() = default;
  GuestMemory(std::byte* base, std::uint64_t bytes) : base_(base), bytes_(bytes) {}

  std::uint64_t bytes() const { return bytes_; }

  // `count` elements at `address`; what names the argument in the error.
  template <typename T>
  Result<std::span<std::byte>> range(GuestAddress address, std::uint32_t count,
                                     const char* what) const {
    const auto start = static_cast<std::uint64_t>(address);
    const std::uint64_t wanted = std::uint64_t{count} * sizeof(T);
    if (start + wanted > bytes_) return outside(start, wanted, what);
    if (wanted == 0) return std::span<std::byte>{};
    return std::span<std::byte>(base_ + start, static_cast<std::size_t>(wanted));
  }

  // A copy, since a guest's list may lie at any alignment and change later.
  template <typename T>
  Result<std::vector<T>> read(GuestList<T> list, const char* what) const {
    const std::span<std::byte> from = TRY(range<T>(list.address, list.count, what));
    std::vector<T> values(list.count);
    if (!from.empty()) std::memcpy(values.data(), from.data(), from.size());
    return values;
  }

  Result<std::string> read_bytes(GuestList<std::uint8_t> list, const char* what) const {
    const std::span<std::byte> from = TRY(range<std::uint8_t>(list.address, list.count, what));
    return std::string(reinterpret_cast<const char*>(from.data()), from.size());
  }

 private:
  Error outside(std::uint64_t start, std::uint64_t wanted, const char* what) const;

  std::byte* base_ = nullptr;
  std::uint64_t bytes_ = 0;
};

}  // namespace quire::sandbox
