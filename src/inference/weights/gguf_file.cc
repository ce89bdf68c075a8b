#include "inference/weights/gguf_file.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <unordered_set>

#include "base/utf8.h"

namespace quire::inference {
namespace {

static_assert(std::endian::native == std::endian::little, "GGUF is read as it lies in memory.");

constexpr std::uint32_t kMagic = 0x46554747;  // "GGUF"
constexpr std::size_t kWindowBytes = 256 * 1024;
constexpr std::uint64_t kDefaultAlignment = 32;

// Every type id that GGML knows, so that an unsupported one is named.
struct GgmlType {
  std::uint32_t id;
  const char* name;
  std::optional<NumberFormat> format;
};
constexpr GgmlType kGgmlTypes[] = {
    {0, "F32", NumberFormat::F32},
    {1, "F16", NumberFormat::F16},
    {2, "Q4_0", NumberFormat::Q4_0},
    {3, "Q4_1", NumberFormat::Q4_1},
    {6, "Q5_0", NumberFormat::Q5_0},
    {7, "Q5_1", NumberFormat::Q5_1},
    {8, "Q8_0", NumberFormat::Q8_0},
    {9, "Q8_1", {}},
    {10, "Q2_K", {}},
    {11, "Q3_K", {}},
    {12, "Q4_K", NumberFormat::Q4_K},
    {13, "Q5_K", NumberFormat::Q5_K},
    {14, "Q6_K", NumberFormat::Q6_K},
    {15, "Q8_K", {}},
    {16, "IQ2_XXS", {}},
    {17, "IQ2_XS", {}},
    {18, "IQ3_XXS", {}},
    {19, "IQ1_S", {}},
    {20, "IQ4_NL", {}},
    {21, "IQ3_S", {}},
    {22, "IQ2_S", {}},
    {23, "IQ4_XS", {}},
    {24, "I8", {}},
    {25, "I16", {}},
    {26, "I32", {}},
    {27, "I64", {}},
    {28, "F64", {}},
    {29, "IQ1_M", {}},
    {30, "BF16", NumberFormat::BF16},
    {34, "TQ1_0", {}},
    {35, "TQ2_0", {}},
    {39, "MXFP4", {}},
};

// Bytes of one element; 0 for texts, arrays and ids that do not exist.
std::uint64_t scalar_bytes(GgufType type) {
  switch (type) {
    case GgufType::U8:
    case GgufType::I8:
    case GgufType::Bool:
      return 1;
    case GgufType::U16:
    case GgufType::I16:
      return 2;
    case GgufType::U32:
    case GgufType::I32:
    case GgufType::F32:
      return 4;
    case GgufType::U64:
    case GgufType::I64:
    case GgufType::F64:
      return 8;
    case GgufType::Text:
    case GgufType::Array:
      return 0;
  }
  return 0;
}

}  // namespace

const char* gguf_type_name(GgufType type) {
  constexpr const char* kNames[] = {"u8",   "i8",   "u16",   "i16", "u32", "i32", "f32",
                                    "bool", "text", "array", "u64", "i64", "f64"};
  const auto index = static_cast<std::uint32_t>(type);
  return index < std::size(kNames) ? kNames[index] : "unknown";
}

// Walks the header once, front to back, through a window of 256 KiB.
class GgufReader {
 public:
  explicit GgufReader(const ByteSource& source) : source_(source) {}

  Result<void> read_header(GgufFile& file);

 private:
  std::uint64_t remaining() const { return source_.bytes() - position_; }
  Error corrupted(std::uint64_t offset, const std::string& what) const {
    return Error(ErrorCode::Corrupted,
                 source_.name() + ": byte " + std::to_string(offset) + ": " + what);
  }
  Error unsupported(std::uint64_t offset, const std::string& what) const {
    return Error(ErrorCode::NotSupported,
                 source_.name() + ": byte " + std::to_string(offset) + ": " + what);
  }
  Result<void> copy(void* into, std::uint64_t count, const std::string& field);
  template <typename T>
  Result<T> number(const std::string& field) {
    T value{};
    TRY(copy(&value, sizeof(T), field));
    return value;
  }
  Result<std::uint64_t> text_length(const std::string& field, std::uint64_t bytes_max);
  Result<std::string> text(const std::string& field, std::uint64_t bytes_max);
  Result<void> read_metadata(GgufMetadata& metadata, std::uint64_t count);
  Result<GgufValue> value(const std::string& field);
  Result<void> read_array(GgufValue& array, const std::string& field);
  Result<void> read_text_array(GgufValue& array, const std::string& field);
  Result<void> check_booleans(const GgufValue& array, const std::string& field) const;
  Result<std::uint64_t> alignment(const GgufMetadata& metadata) const;
  Result<GgufTensor> tensor(std::uint64_t index);
  Result<NumberFormat> number_format(std::uint32_t id, std::uint64_t offset,
                                     const std::string& field) const;
  Result<void> size_tensor(GgufTensor& tensor, std::uint64_t offset,
                           const std::string& field) const;
  Result<void> place_tensors(GgufFile& file) const;

  const ByteSource& source_;
  std::uint64_t position_ = 0;
  std::vector<std::byte> window_;
  std::uint64_t window_offset_ = 0;
};

Result<void> GgufReader::copy(void* into, std::uint64_t count, const std::string& field) {
  if (count > remaining()) {
    return corrupted(position_, field + " takes " + std::to_string(count) + " bytes, and " +
                                    std::to_string(remaining()) + " are left in the file");
  }
  if (position_ + count > kGgufHeaderBytesMax) {
    return Error(ErrorCode::TooLarge, source_.name() + ": byte " + std::to_string(position_) +
                                          ": " + field + ": a header has at most " +
                                          std::to_string(kGgufHeaderBytesMax) + " bytes");
  }
  if (count > kWindowBytes) {
    TRY(source_.read(position_, std::span(static_cast<std::byte*>(into), count)));
  } else {
    if (position_ < window_offset_ || position_ + count > window_offset_ + window_.size()) {
      window_.resize(std::min<std::uint64_t>(kWindowBytes, remaining()));
      window_offset_ = position_;
      TRY(source_.read(window_offset_, window_));
    }
    if (count > 0) std::memcpy(into, window_.data() + (position_ - window_offset_), count);
  }
  position_ += count;
  return {};
}

Result<std::uint64_t> GgufReader::text_length(const std::string& field, std::uint64_t bytes_max) {
  const std::uint64_t offset = position_;
  const std::uint64_t length = TRY(number<std::uint64_t>(field + " length"));
  if (length > remaining()) {
    return corrupted(offset, field + " says " + std::to_string(length) + " bytes, and " +
                                 std::to_string(remaining()) + " are left in the file");
  }
  if (length > bytes_max) {
    return corrupted(offset, field + " says " + std::to_string(length) + " bytes; at most " +
                                 std::to_string(bytes_max) + " are allowed");
  }
  return length;
}

Result<std::string> GgufReader::text(const std::string& field, std::uint64_t bytes_max) {
  const std::uint64_t length = TRY(text_length(field, bytes_max));
  std::string value(length, '\0');
  TRY(copy(value.data(), length, field));
  return value;
}

Result<void> GgufReader::read_text_array(GgufValue& array, const std::string& field) {
  TextArray& texts = array.texts;
  for (std::uint64_t index = 0; index < array.count; ++index) {
    const std::uint64_t length = TRY(text_length(field, kGgufHeaderBytesMax));
    const std::size_t begin = texts.bytes_.size();
    texts.bytes_.resize(begin + length);
    TRY(copy(texts.bytes_.data() + begin, length, field));
    texts.ends_.push_back(static_cast<std::uint32_t>(texts.bytes_.size()));
  }
  texts.bytes_.shrink_to_fit();
  texts.ends_.shrink_to_fit();
  return {};
}

Result<void> GgufReader::check_booleans(const GgufValue& array, const std::string& field) const {
  for (const char each : array.bytes) {
    if (each != 0 && each != 1) {
      return corrupted(array.offset, field + " holds a bool that is neither 0 nor 1");
    }
  }
  return {};
}

Result<void> GgufReader::read_array(GgufValue& array, const std::string& field) {
  const std::uint64_t offset = position_;
  array.element_type = static_cast<GgufType>(TRY(number<std::uint32_t>(field + " element type")));
  if (array.element_type == GgufType::Array) {
    return unsupported(offset, field + " is an array of arrays");
  }
  const bool is_text = array.element_type == GgufType::Text;
  const std::uint64_t element_bytes = is_text ? 8 : scalar_bytes(array.element_type);
  if (element_bytes == 0) {
    return corrupted(offset, field + " has the unknown element type " +
                                 std::to_string(static_cast<std::uint32_t>(array.element_type)));
  }
  const std::uint64_t count_offset = position_;
  array.count = TRY(number<std::uint64_t>(field + " element count"));
  if (array.count > remaining() / element_bytes) {
    return corrupted(count_offset, field + " says " + std::to_string(array.count) +
                                       " elements, and " + std::to_string(remaining()) +
                                       " bytes are left in the file");
  }
  if (is_text) return read_text_array(array, field);
  if (array.count * element_bytes > kGgufHeaderBytesMax) {
    return Error(ErrorCode::TooLarge, source_.name() + ": byte " + std::to_string(count_offset) +
                                          ": " + field + " has " + std::to_string(array.count) +
                                          " elements; a header has at most " +
                                          std::to_string(kGgufHeaderBytesMax) + " bytes");
  }
  array.bytes.resize(array.count * element_bytes);
  TRY(copy(array.bytes.data(), array.bytes.size(), field));
  if (array.element_type == GgufType::Bool) TRY(check_booleans(array, field));
  return {};
}

Result<GgufValue> GgufReader::value(const std::string& field) {
  GgufValue result;
  const std::uint64_t type_offset = position_;
  result.type = static_cast<GgufType>(TRY(number<std::uint32_t>(field + " type")));
  result.offset = position_;
  if (result.type == GgufType::Text) {
    result.bytes = TRY(text(field, kGgufHeaderBytesMax));
  } else if (result.type == GgufType::Array) {
    TRY(read_array(result, field));
  } else if (const std::uint64_t bytes = scalar_bytes(result.type); bytes > 0) {
    TRY(copy(&result.bits, bytes, field));
    if (result.type == GgufType::Bool && result.bits > 1) {
      return corrupted(result.offset, field + " is a bool of " + std::to_string(result.bits));
    }
  } else {
    return corrupted(type_offset, field + " has the unknown type " +
                                      std::to_string(static_cast<std::uint32_t>(result.type)));
  }
  return result;
}

Result<void> GgufReader::read_metadata(GgufMetadata& metadata, std::uint64_t count) {
  metadata.source_name_ = source_.name();
  for (std::uint64_t index = 0; index < count; ++index) {
    const std::uint64_t offset = position_;
    std::string key = TRY(text("key " + std::to_string(index), kGgufKeyBytesMax));
    if (key.empty()) return corrupted(offset, "key " + std::to_string(index) + " is empty");
    GgufValue parsed = TRY(value(in_quotes(key)));
    const auto [slot, added] = metadata.values_.try_emplace(key, std::move(parsed));
    if (!added) return corrupted(offset, "key " + in_quotes(key) + " appears twice");
    metadata.keys_.push_back(std::move(key));
  }
  return {};
}

Result<std::uint64_t> GgufReader::alignment(const GgufMetadata& metadata) const {
  const auto said = TRY(metadata.find_u64("general.alignment"));
  if (!said) return kDefaultAlignment;
  if (!std::has_single_bit(*said) || *said > kGgufAlignmentMax) {
    return corrupted(metadata.find("general.alignment")->offset,
                     "general.alignment is " + std::to_string(*said) + "; a power of two up to " +
                         std::to_string(kGgufAlignmentMax) + " was expected");
  }
  return *said;
}

Result<NumberFormat> GgufReader::number_format(std::uint32_t id, std::uint64_t offset,
                                               const std::string& field) const {
  for (const GgmlType& type : kGgmlTypes) {
    if (type.id != id) continue;
    if (type.format) return *type.format;
    return unsupported(offset, field + " has the number format " + type.name +
                                   ", which this build cannot read (it reads F32, F16, BF16, "
                                   "Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q4_K, Q5_K, Q6_K)");
  }
  return corrupted(offset, field + " has the unknown number format " + std::to_string(id));
}

// The bytes that the dimensions ask for, without overflow.
Result<void> GgufReader::size_tensor(GgufTensor& tensor, std::uint64_t offset,
                                     const std::string& field) const {
  const FormatShape shape = format_shape(tensor.format);
  if (tensor.dimensions[0] % shape.block_values != 0) {
    return corrupted(offset, field + " has rows of " + std::to_string(tensor.dimensions[0]) +
                                 " numbers, not whole " + shape.name + " blocks of " +
                                 std::to_string(shape.block_values));
  }
  bool overflows = __builtin_mul_overflow(tensor.dimensions[0] / shape.block_values,
                                          std::uint64_t{shape.block_bytes}, &tensor.bytes);
  for (std::uint32_t axis = 1; axis < kGgufDimensionCountMax; ++axis) {
    overflows |= __builtin_mul_overflow(tensor.bytes, tensor.dimensions[axis], &tensor.bytes);
  }
  if (overflows || tensor.bytes > source_.bytes()) {
    return corrupted(
        offset, field + " is larger than the file's " + std::to_string(source_.bytes()) + " bytes");
  }
  return {};
}

Result<GgufTensor> GgufReader::tensor(std::uint64_t index) {
  GgufTensor result;
  const std::uint64_t name_offset = position_;
  result.name = TRY(text("tensor name " + std::to_string(index), kGgufTensorNameBytesMax));
  if (result.name.empty()) {
    return corrupted(name_offset, "tensor " + std::to_string(index) + " has no name");
  }
  const std::string field = "tensor " + in_quotes(result.name);
  const std::uint64_t count_offset = position_;
  result.dimension_count = TRY(number<std::uint32_t>(field + " dimension count"));
  if (result.dimension_count < 1 || result.dimension_count > kGgufDimensionCountMax) {
    return corrupted(count_offset, field + " has " + std::to_string(result.dimension_count) +
                                       " dimensions; 1 to 4 were expected");
  }
  const std::uint64_t dimensions_offset = position_;
  for (std::uint32_t axis = 0; axis < result.dimension_count; ++axis) {
    const std::uint64_t offset = position_;
    result.dimensions[axis] = TRY(number<std::uint64_t>(field + " dimension"));
    if (result.dimensions[axis] == 0) {
      return corrupted(offset, field + " dimension " + std::to_string(axis) + " is 0");
    }
  }
  const std::uint64_t type_offset = position_;
  const std::uint32_t type = TRY(number<std::uint32_t>(field + " number format"));
  result.format = TRY(number_format(type, type_offset, field));
  TRY(size_tensor(result, dimensions_offset, field));
  result.offset = TRY(number<std::uint64_t>(field + " offset"));
  return result;
}

// Turns offsets from the start of the data into offsets in the file; none may leave it or overlap.
Result<void> GgufReader::place_tensors(GgufFile& file) const {
  const std::uint64_t alignment = file.alignment;
  const std::uint64_t data_offset = (position_ + alignment - 1) / alignment * alignment;
  std::vector<const GgufTensor*> ordered;
  for (GgufTensor& tensor : file.tensors) {
    const std::string field = "tensor " + in_quotes(tensor.name);
    if (tensor.offset % alignment != 0) {
      return corrupted(position_, field + " offset " + std::to_string(tensor.offset) +
                                      " is not a multiple of the alignment " +
                                      std::to_string(alignment));
    }
    const std::uint64_t data_bytes =
        source_.bytes() > data_offset ? source_.bytes() - data_offset : 0;
    if (tensor.offset > data_bytes || tensor.bytes > data_bytes - tensor.offset) {
      return corrupted(data_offset, field + " takes " + std::to_string(tensor.bytes) +
                                        " bytes at offset " + std::to_string(tensor.offset) +
                                        " of the data, which has " + std::to_string(data_bytes));
    }
    tensor.offset += data_offset;
    ordered.push_back(&tensor);
  }
  std::sort(ordered.begin(), ordered.end(),
            [](const GgufTensor* a, const GgufTensor* b) { return a->offset < b->offset; });
  for (std::size_t index = 1; index < ordered.size(); ++index) {
    const GgufTensor& before = *ordered[index - 1];
    if (before.offset + before.bytes > ordered[index]->offset) {
      return corrupted(ordered[index]->offset, "tensors " + in_quotes(before.name) + " and " +
                                                   in_quotes(ordered[index]->name) + " overlap");
    }
  }
  return {};
}

Result<void> GgufReader::read_header(GgufFile& file) {
  if (source_.bytes() == 0) return Error(ErrorCode::Corrupted, source_.name() + " is empty");
  const std::uint32_t magic = TRY(number<std::uint32_t>("magic"));
  if (magic != kMagic) return corrupted(0, "the file does not begin with \"GGUF\"");
  file.version = TRY(number<std::uint32_t>("version"));
  if (file.version == 0x02000000 || file.version == 0x03000000) {
    return unsupported(4, "the file is big-endian; little-endian GGUF is read");
  }
  if (file.version != 2 && file.version != 3) {
    return unsupported(
        4, "GGUF version " + std::to_string(file.version) + " is not read; versions 2 and 3 are");
  }
  const std::uint64_t tensor_count = TRY(number<std::uint64_t>("tensor count"));
  const std::uint64_t metadata_count = TRY(number<std::uint64_t>("metadata count"));
  constexpr std::uint64_t kTensorBytesMin = 33;  // A name of one byte and one dimension.
  constexpr std::uint64_t kPairBytesMin = 14;    // A key of one byte and a value of one byte.
  if (tensor_count > kGgufTensorCountMax || tensor_count > remaining() / kTensorBytesMin) {
    return corrupted(8, "the file says " + std::to_string(tensor_count) + " tensors; " +
                            std::to_string(remaining()) + " bytes are left, and at most " +
                            std::to_string(kGgufTensorCountMax) + " are allowed");
  }
  if (metadata_count > kGgufMetadataCountMax || metadata_count > remaining() / kPairBytesMin) {
    return corrupted(16, "the file says " + std::to_string(metadata_count) + " metadata pairs; " +
                             std::to_string(remaining()) + " bytes are left, and at most " +
                             std::to_string(kGgufMetadataCountMax) + " are allowed");
  }
  TRY(read_metadata(*file.metadata, metadata_count));
  file.alignment = TRY(alignment(*file.metadata));
  std::unordered_set<std::string> names;
  for (std::uint64_t index = 0; index < tensor_count; ++index) {
    const std::uint64_t offset = position_;
    GgufTensor parsed = TRY(tensor(index));
    if (!names.insert(parsed.name).second) {
      return corrupted(offset, "tensor " + in_quotes(parsed.name) + " appears twice");
    }
    file.tensors.push_back(std::move(parsed));
  }
  file.header_bytes = position_;
  return place_tensors(file);
}

Result<GgufFile> GgufFile::parse(std::shared_ptr<const ByteSource> source) {
  GgufFile file;
  file.metadata = std::make_unique<GgufMetadata>();
  GgufReader reader(*source);
  TRY(reader.read_header(file));
  for (GgufTensor& tensor : file.tensors) tensor.source = source;
  file.source = std::move(source);
  return file;
}

}  // namespace quire::inference
