#pragma once
// Little-endian numbers and length-prefixed blocks, for everything that the store writes itself.
//
// A reader never goes beyond its bytes: the first read that would marks it failed, and every read
// after that gives zero or nothing. Ask ok() once, at the end.
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace quire::store {

class ByteWriter {
 public:
  void u8(std::uint8_t value) { number(value, 1); }
  void u32(std::uint32_t value) { number(value, 4); }
  void u64(std::uint64_t value) { number(value, 8); }
  void raw(std::span<const std::byte> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  void raw(std::string_view text) { raw(std::as_bytes(std::span(text.data(), text.size()))); }
  template <std::size_t Count>
  void raw(const std::array<std::uint8_t, Count>& bytes) {
    raw(std::as_bytes(std::span(bytes)));
  }
  // The length as u32, then the bytes.
  void block(std::span<const std::byte> bytes) {
    u32(static_cast<std::uint32_t>(bytes.size()));
    raw(bytes);
  }
  void block(std::string_view text) { block(std::as_bytes(std::span(text.data(), text.size()))); }
  // The count as u32, then each word.
  template <typename Word>
  void words(const std::vector<Word>& values) {
    u32(static_cast<std::uint32_t>(values.size()));
    for (const Word value : values) u32(static_cast<std::uint32_t>(value));
  }
  void pad_to(std::size_t bytes) { bytes_.resize(bytes); }

  const std::vector<std::byte>& bytes() const { return bytes_; }
  std::vector<std::byte> take() && { return std::move(bytes_); }

 private:
  void number(std::uint64_t value, int byte_count) {
    for (int index = 0; index < byte_count; ++index) {
      bytes_.push_back(static_cast<std::byte>(value >> (8 * index)));
    }
  }
  std::vector<std::byte> bytes_;
};

class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::uint8_t u8() { return static_cast<std::uint8_t>(number(1)); }
  std::uint32_t u32() { return static_cast<std::uint32_t>(number(4)); }
  std::uint64_t u64() { return number(8); }
  std::span<const std::byte> raw(std::size_t count) {
    if (!is_ok_ || count > bytes_.size()) {
      is_ok_ = false;
      return {};
    }
    const auto taken = bytes_.first(count);
    bytes_ = bytes_.subspan(count);
    return taken;
  }
  template <std::size_t Count>
  std::array<std::uint8_t, Count> raw_array() {
    std::array<std::uint8_t, Count> value{};
    const auto taken = raw(Count);
    if (!taken.empty()) std::memcpy(value.data(), taken.data(), Count);
    return value;
  }
  std::vector<std::byte> block() {
    const auto taken = raw(u32());
    return {taken.begin(), taken.end()};
  }
  std::string text() {
    const auto taken = raw(u32());
    return {reinterpret_cast<const char*>(taken.data()), taken.size()};
  }
  template <typename Word>
  std::vector<Word> words() {
    return some_words<Word>(u32());
  }
  template <typename Word>
  std::vector<Word> some_words(std::size_t count) {
    ByteReader taken(raw(count > bytes_.size() / 4 ? bytes_.size() + 1 : count * 4));
    std::vector<Word> values;
    if (!is_ok_) return values;
    values.reserve(count);
    for (std::size_t index = 0; index < count; ++index) {
      values.push_back(static_cast<Word>(taken.u32()));
    }
    return values;
  }

  bool ok() const { return is_ok_; }
  bool at_end() const { return is_ok_ && bytes_.empty(); }

 private:
  std::uint64_t number(std::size_t byte_count) {
    std::uint64_t value = 0;
    const auto taken = raw(byte_count);
    for (std::size_t index = 0; index < taken.size(); ++index) {
      value |= static_cast<std::uint64_t>(taken[index]) << (8 * index);
    }
    return value;
  }
  std::span<const std::byte> bytes_;
  bool is_ok_ = true;
};

}  // namespace quire::store
