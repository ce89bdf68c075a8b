#pragma once
// ModuleReader walks the bytes of a Wasm module that is not to be believed.
//
// Thread   any; it belongs to the function that made it.
// Errors   InvalidArgument says what is wrong at which byte.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/utf8.h"

namespace quire::sandbox {

inline Error invalid_module(const char* why, std::size_t at) {
  return Error(ErrorCode::InvalidArgument,
               "not a valid Wasm module: " + std::string(why) + " at byte " + std::to_string(at));
}

// A cursor over the module that never reads past its end.
class ModuleReader {
 public:
  ModuleReader(std::span<const std::byte> bytes, std::size_t start, std::size_t end)
      : bytes_(bytes), at_(start), end_(end) {}

  bool done() const { return at_ >= end_; }
  std::size_t at() const { return at_; }

  Result<std::uint8_t> byte() {
    if (at_ >= end_) return fail("cut short");
    return static_cast<std::uint8_t>(bytes_[at_++]);
  }

  // LEB128 of at most `bits` bits.
  Result<std::uint64_t> number(unsigned bits) {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < bits; shift += 7) {
      const std::uint8_t next = TRY(byte());
      const std::uint64_t low = next & 0x7f;
      if (bits - shift < 7 && (low >> (bits - shift)) != 0) return fail("a number too large");
      value |= low << shift;
      if ((next & 0x80) == 0) return value;
    }
    return fail("a number too long");
  }
  // A number of either sign whose value does not matter.
  Result<void> skip_number() {
    constexpr int kNumberBytesMax = 10;
    for (int i = 0; i < kNumberBytesMax; ++i) {
      if ((TRY(byte()) & 0x80) == 0) return {};
    }
    return fail("a number too long");
  }
  Result<std::uint32_t> count() { return static_cast<std::uint32_t>(TRY(number(32))); }

  Result<std::string_view> name() {
    constexpr std::uint32_t kNameBytesMax = 100'000;
    const std::uint32_t bytes = TRY(count());
    if (bytes > kNameBytesMax || bytes > end_ - at_) return fail("a name cut short");
    const std::string_view text(reinterpret_cast<const char*>(bytes_.data()) + at_, bytes);
    if (utf8_valid_bytes(text) != bytes) return fail("a name that is not UTF-8");
    at_ += bytes;
    return text;
  }

  Result<void> skip(std::uint64_t bytes) {
    if (bytes > end_ - at_) return fail("cut short");
    at_ += static_cast<std::size_t>(bytes);
    return {};
  }

  // The next bytes, as a reader of their own, which this one steps over.
  Result<ModuleReader> part(std::uint64_t bytes) {
    const std::size_t start = at_;
    TRY(skip(bytes));
    return ModuleReader(bytes_, start, at_);
  }

  Error fail(const char* why) const { return invalid_module(why, at_); }

 private:
  friend class BodyReader;  // Goes on where this one is.
  std::span<const std::byte> bytes_;
  std::size_t at_;
  std::size_t end_;
};

// A cursor for the many small reads of a function's body, half as dear as ModuleReader's: the first
// failure sticks, and after it the reader gives zeros, and is done().
class BodyReader {
 public:
  explicit BodyReader(const ModuleReader& body)
      : bytes_(reinterpret_cast<const std::uint8_t*>(body.bytes_.data())),
        at_(body.at_),
        end_(body.end_) {}

  bool done() const { return at_ >= end_; }
  std::size_t at() const { return at_; }
  bool failed() const { return why_ != nullptr; }
  Error failure() const { return invalid_module(why_, failed_at_); }

  std::uint8_t byte() {
    if (at_ < end_) return bytes_[at_++];
    fail("cut short");
    return 0;
  }
  void skip(std::size_t bytes) {
    if (bytes <= end_ - at_) {
      at_ += bytes;
    } else {
      fail("cut short");
    }
  }
  // LEB128 of at most 32 bits.
  std::uint32_t count() {
    constexpr unsigned kLastShift = 28;
    std::uint32_t value = 0;
    for (unsigned shift = 0; shift <= kLastShift; shift += 7) {
      const std::uint32_t next = byte();
      if (shift == kLastShift && (next & 0x70) != 0) {
        fail("a number too large");
        return 0;
      }
      value |= (next & 0x7f) << shift;
      if ((next & 0x80) == 0) return value;
    }
    fail("a number too long");
    return 0;
  }
  // A number of either sign whose value does not matter.
  void skip_number() {
    constexpr int kNumberBytesMax = 10;
    for (int i = 0; i < kNumberBytesMax; ++i) {
      if ((byte() & 0x80) == 0) return;
    }
    fail("a number too long");
  }

 private:
  void fail(const char* why) {
    if (failed()) return;
    why_ = why;
    failed_at_ = at_;
    at_ = end_;
  }

  const std::uint8_t* bytes_;
  std::size_t at_;
  std::size_t end_;
  const char* why_ = nullptr;
  std::size_t failed_at_ = 0;
};

}  // namespace quire::sandbox
