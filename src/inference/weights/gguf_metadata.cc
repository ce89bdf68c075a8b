// Typed look-ups in the metadata of a GGUF file.
#include <bit>
#include <cstring>
#include <limits>

#include "base/utf8.h"
#include "inference/weights/gguf_file.h"

namespace quire::inference {
namespace {

// An integer of any width: its value, and whether it is below zero (then the value is as I64).
struct Integer {
  std::uint64_t bits = 0;
  bool negative = false;
};

std::optional<Integer> as_integer(GgufType type, std::uint64_t bits) {
  const auto from_signed = [](std::int64_t value) {
    return Integer{static_cast<std::uint64_t>(value), value < 0};
  };
  switch (type) {
    case GgufType::U8:
    case GgufType::U16:
    case GgufType::U32:
    case GgufType::U64:
      return Integer{bits, false};
    case GgufType::I8:
      return from_signed(static_cast<std::int8_t>(bits));
    case GgufType::I16:
      return from_signed(static_cast<std::int16_t>(bits));
    case GgufType::I32:
      return from_signed(static_cast<std::int32_t>(bits));
    case GgufType::I64:
      return from_signed(static_cast<std::int64_t>(bits));
    default:
      return std::nullopt;
  }
}

template <typename T>
std::optional<T> fitting(const Integer& integer) {
  if (integer.negative) {
    const auto value = static_cast<std::int64_t>(integer.bits);
    if constexpr (std::is_signed_v<T>) {
      if (value >= std::numeric_limits<T>::min()) return static_cast<T>(value);
    }
    return std::nullopt;
  }
  if (integer.bits > static_cast<std::uint64_t>(std::numeric_limits<T>::max())) return std::nullopt;
  return static_cast<T>(integer.bits);
}

template <typename T>
std::optional<T> integer_value(const GgufValue& value) {
  const auto integer = as_integer(value.type, value.bits);
  return integer ? fitting<T>(*integer) : std::nullopt;
}

std::uint64_t element_bits(const GgufValue& array, std::size_t index, std::size_t element_bytes) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, array.bytes.data() + index * element_bytes, element_bytes);
  return bits;
}

}  // namespace

const GgufValue* GgufMetadata::find(std::string_view key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? nullptr : &found->second;
}

Error GgufMetadata::wrong_type(std::string_view key, const GgufValue& value,
                               std::string_view wanted) const {
  std::string is = gguf_type_name(value.type);
  if (const auto integer = as_integer(value.type, value.bits)) {
    is += " " + (integer->negative ? std::to_string(static_cast<std::int64_t>(integer->bits))
                                   : std::to_string(integer->bits));
  }
  if (value.type == GgufType::Array) {
    is = std::to_string(value.count) + " of " + gguf_type_name(value.element_type);
  }
  return Error(ErrorCode::Corrupted, source_name_ + ": byte " + std::to_string(value.offset) +
                                         ": " + in_quotes(key) + " is " + is + " where " +
                                         std::string(wanted) + " was expected");
}

Error GgufMetadata::missing(std::string_view key) const {
  return Error(ErrorCode::NotFound, source_name_ + ": the metadata has no " + in_quotes(key));
}

Result<std::optional<std::uint32_t>> GgufMetadata::find_u32(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::optional<std::uint32_t>();
  const auto number = integer_value<std::uint32_t>(*value);
  if (!number) return wrong_type(key, *value, "an integer of 0 to 2^32 - 1");
  return number;
}

Result<std::optional<std::uint64_t>> GgufMetadata::find_u64(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::optional<std::uint64_t>();
  const auto number = integer_value<std::uint64_t>(*value);
  if (!number) return wrong_type(key, *value, "an integer of at least 0");
  return number;
}

Result<std::optional<std::int32_t>> GgufMetadata::find_i32(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::optional<std::int32_t>();
  const auto number = integer_value<std::int32_t>(*value);
  if (!number) return wrong_type(key, *value, "an integer of 32 bits");
  return number;
}

Result<std::optional<double>> GgufMetadata::find_real(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::optional<double>();
  if (value->type == GgufType::F32) {
    return std::optional<double>(std::bit_cast<float>(static_cast<std::uint32_t>(value->bits)));
  }
  if (value->type == GgufType::F64)
    return std::optional<double>(std::bit_cast<double>(value->bits));
  return wrong_type(key, *value, "a floating-point number");
}

Result<std::optional<bool>> GgufMetadata::find_bool(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::optional<bool>();
  if (value->type != GgufType::Bool) return wrong_type(key, *value, "a bool");
  return std::optional<bool>(value->bits != 0);
}

Result<std::optional<std::string_view>> GgufMetadata::find_text(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::optional<std::string_view>();
  if (value->type != GgufType::Text) return wrong_type(key, *value, "a text");
  return std::optional<std::string_view>(value->bytes);
}

Result<std::uint32_t> GgufMetadata::u32(std::string_view key) const {
  const auto value = TRY(find_u32(key));
  if (!value) return missing(key);
  return *value;
}

Result<double> GgufMetadata::real(std::string_view key) const {
  const auto value = TRY(find_real(key));
  if (!value) return missing(key);
  return *value;
}

Result<std::string_view> GgufMetadata::text(std::string_view key) const {
  const auto value = TRY(find_text(key));
  if (!value) return missing(key);
  return *value;
}

Result<const TextArray*> GgufMetadata::texts(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return missing(key);
  if (value->type != GgufType::Array || value->element_type != GgufType::Text) {
    return wrong_type(key, *value, "an array of texts");
  }
  return &value->texts;
}

Result<std::vector<std::int32_t>> GgufMetadata::integers(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return missing(key);
  if (value->type != GgufType::Array || value->element_type == GgufType::Text) {
    return wrong_type(key, *value, "an array of integers");
  }
  std::vector<std::int32_t> numbers;
  if (value->count == 0) return numbers;
  numbers.reserve(value->count);
  const std::size_t element_bytes = value->bytes.size() / value->count;
  for (std::size_t index = 0; index < value->count; ++index) {
    const auto integer =
        as_integer(value->element_type, element_bits(*value, index, element_bytes));
    const auto number = integer ? fitting<std::int32_t>(*integer) : std::nullopt;
    if (!number) return wrong_type(key, *value, "an array of integers of 32 bits");
    numbers.push_back(*number);
  }
  return numbers;
}

Result<std::vector<bool>> GgufMetadata::bools(std::string_view key) const {
  std::vector<bool> flags;
  const GgufValue* value = find(key);
  if (value != nullptr && value->type == GgufType::Array && value->element_type == GgufType::Bool) {
    for (const char byte : value->bytes) flags.push_back(byte != 0);
    return flags;
  }
  for (const std::int32_t number : TRY(integers(key))) flags.push_back(number != 0);
  return flags;
}

Result<std::vector<float>> GgufMetadata::reals(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return missing(key);
  if (value->type != GgufType::Array || value->element_type != GgufType::F32) {
    return wrong_type(key, *value, "an array of f32");
  }
  std::vector<float> numbers(value->count);
  if (value->count > 0) std::memcpy(numbers.data(), value->bytes.data(), value->bytes.size());
  return numbers;
}

}  // namespace quire::inference
