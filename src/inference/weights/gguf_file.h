#pragma once
// GgufFile: the metadata and the tensor directory of a GGUF file (version 2 or 3, little endian).
//
// Files are hostile: every count, length, offset and type is checked before it is used. No more is
// allocated than the rest of the file could hold. An error names the field and its byte offset.
// Tensor bytes are not read here.
//
// Thread   any; nothing changes after parse().
// Errors   Corrupted for a file that contradicts itself; NotSupported for versions and number
//          formats that this build lacks; TooLarge beyond the named limits below.
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "inference/api/number_format.h"
#include "inference/weights/byte_source.h"

namespace quire::inference {

inline constexpr std::uint64_t kGgufMetadataCountMax = 65536;
inline constexpr std::uint64_t kGgufTensorCountMax = 65536;
inline constexpr std::uint64_t kGgufKeyBytesMax = 65535;
inline constexpr std::uint64_t kGgufTensorNameBytesMax = 255;
inline constexpr std::uint64_t kGgufHeaderBytesMax = std::uint64_t{512} << 20;
inline constexpr std::uint64_t kGgufAlignmentMax = 65536;
inline constexpr std::uint32_t kGgufDimensionCountMax = 4;

enum class GgufType : std::uint32_t {
  U8 = 0,
  I8 = 1,
  U16 = 2,
  I16 = 3,
  U32 = 4,
  I32 = 5,
  F32 = 6,
  Bool = 7,
  Text = 8,
  Array = 9,
  U64 = 10,
  I64 = 11,
  F64 = 12,
};
const char* gguf_type_name(GgufType type);

// An array of texts: one buffer and where each text ends.
class TextArray {
 public:
  std::size_t size() const { return ends_.size(); }
  std::string_view operator[](std::size_t index) const {
    const std::size_t begin = index == 0 ? 0 : ends_[index - 1];
    return std::string_view(bytes_).substr(begin, ends_[index] - begin);
  }

 private:
  friend class GgufReader;
  std::string bytes_;
  std::vector<std::uint32_t> ends_;  // The header is at most 512 MiB.
};

struct GgufValue {
  GgufType type{};
  GgufType element_type{};   // Of an array.
  std::uint64_t count = 0;   // Of an array.
  std::uint64_t offset = 0;  // Where the value begins in the file.
  std::uint64_t bits = 0;    // A scalar, as stored.
  std::string bytes;         // A text, or the elements of an array of numbers.
  TextArray texts;           // An array of texts.
};

// Typed look-ups. find_* give nothing where the key is missing, and Corrupted where it has another
// type; the others give NotFound where it is missing. Integers of any width are accepted where they
// fit, F32 and F64 likewise.
class GgufMetadata {
 public:
  bool has(std::string_view key) const { return find(key) != nullptr; }
  const GgufValue* find(std::string_view key) const;
  const std::string& source_name() const { return source_name_; }

  Result<std::optional<std::uint32_t>> find_u32(std::string_view key) const;
  Result<std::optional<std::uint64_t>> find_u64(std::string_view key) const;
  Result<std::optional<std::int32_t>> find_i32(std::string_view key) const;
  Result<std::optional<double>> find_real(std::string_view key) const;
  Result<std::optional<bool>> find_bool(std::string_view key) const;
  Result<std::optional<std::string_view>> find_text(std::string_view key) const;

  Result<std::uint32_t> u32(std::string_view key) const;
  Result<double> real(std::string_view key) const;
  Result<std::string_view> text(std::string_view key) const;
  // Views and copies of arrays; NotFound where missing. The view lives as long as this object.
  Result<const TextArray*> texts(std::string_view key) const;
  Result<std::vector<std::int32_t>> integers(std::string_view key) const;  // Any width that fits.
  Result<std::vector<float>> reals(std::string_view key) const;            // F32 only.
  Result<std::vector<bool>> bools(std::string_view key) const;  // Or integers: 0 is false.

  // Every key in file order.
  const std::vector<std::string>& keys() const { return keys_; }

 private:
  friend class GgufReader;
  struct KeyHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view key) const {
      return std::hash<std::string_view>{}(key);
    }
  };
  Error wrong_type(std::string_view key, const GgufValue& value, std::string_view wanted) const;
  Error missing(std::string_view key) const;

  std::string source_name_;
  std::vector<std::string> keys_;
  std::unordered_map<std::string, GgufValue, KeyHash, std::equal_to<>> values_;
};

struct GgufTensor {
  std::string name;
  NumberFormat format{};
  std::uint32_t dimension_count = 0;
  std::uint64_t dimensions[kGgufDimensionCountMax] = {1, 1, 1, 1};  // Fastest first.
  std::uint64_t offset = 0;                                         // In `source`.
  std::uint64_t bytes = 0;
  std::shared_ptr<const ByteSource> source;
};

// One file, or all shards of a model (read_gguf): then `source` is the first, and each tensor names
// its own.
struct GgufFile {
  std::shared_ptr<const ByteSource> source;
  std::uint32_t version = 0;
  std::uint64_t header_bytes = 0;  // The data begins at the next multiple of the alignment.
  std::uint64_t alignment = 0;
  std::unique_ptr<GgufMetadata> metadata;
  std::vector<GgufTensor> tensors;  // In file order.

  static Result<GgufFile> parse(std::shared_ptr<const ByteSource> source);
};

}  // namespace quire::inference
