#pragma once
// NPY: numpy's file of one array, read and written. Only little-endian bool, u8, i32, i64, f32 and
// f64 in C order, which is all that masks, ids, positions and logits need.
//
// Errors   Corrupted with the field for bytes that contradict themselves; NotSupported for other
//          types; Io.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "base/result.h"

namespace quire {

enum class NpyType : std::uint8_t { Bool, U8, I32, I64, F32, F64 };
const char* npy_type_name(NpyType type);  // "bool"

template <typename T>
constexpr NpyType npy_type_of() {
  if constexpr (std::is_same_v<T, bool>) return NpyType::Bool;
  if constexpr (std::is_same_v<T, std::uint8_t>) return NpyType::U8;
  if constexpr (std::is_same_v<T, std::int32_t>) return NpyType::I32;
  if constexpr (std::is_same_v<T, std::int64_t>) return NpyType::I64;
  if constexpr (std::is_same_v<T, float>) return NpyType::F32;
  if constexpr (std::is_same_v<T, double>) return NpyType::F64;
}

struct NpyArray {
  NpyType type{};
  std::vector<std::uint64_t> shape;  // Slowest first. Empty: one number.
  std::vector<std::byte> bytes;

  std::uint64_t count() const;

  // A copy of the numbers; InvalidArgument when the array holds another type. Bool as u8 is
  // allowed.
  template <typename T>
  Result<std::vector<T>> values() const {
    const bool is_bool_as_u8 = type == NpyType::Bool && std::is_same_v<T, std::uint8_t>;
    if (npy_type_of<T>() != type && !is_bool_as_u8) {
      return Error(ErrorCode::InvalidArgument,
                   std::string("an array of ") + npy_type_name(type) + " where one of " +
                       npy_type_name(npy_type_of<T>()) + " was expected");
    }
    std::vector<T> numbers(bytes.size() / sizeof(T));
    if (!bytes.empty()) std::memcpy(numbers.data(), bytes.data(), bytes.size());
    return numbers;
  }
};

Result<NpyArray> parse_npy(std::span<const std::byte> file, const std::string& name);
Result<NpyArray> read_npy(const std::string& path, std::uint64_t bytes_max);

// Writes F32 rows one after the other, so that logits larger than memory can be written. The file
// appears under its name when close() succeeds, and not before.
class NpyWriter {
 public:
  static Result<NpyWriter> create(const std::string& path, const std::vector<std::uint64_t>& shape);
  NpyWriter(NpyWriter&& other) noexcept;
  NpyWriter& operator=(NpyWriter&&) = delete;
  ~NpyWriter();  // Without close(): removes what was written.

  Result<void> append(std::span<const float> numbers);  // InvalidArgument beyond the shape.
  Result<void> close();                                 // InvalidArgument when numbers are missing.

 private:
  NpyWriter(int descriptor, std::string path, std::uint64_t count)
      : descriptor_(descriptor), path_(std::move(path)), missing_count_(count) {}
  Result<void> write(std::span<const std::byte> bytes);
  int descriptor_ = -1;
  std::string path_;
  std::uint64_t missing_count_ = 0;
};

}  // namespace quire
