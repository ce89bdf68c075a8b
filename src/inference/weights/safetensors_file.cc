#include "inference/weights/safetensors_file.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <tuple>

#include "base/utf8.h"
#include "inference/weights/strict_json.h"

namespace quire::inference {
namespace {

constexpr std::uint64_t kLengthBytes = 8;

Result<NumberFormat> number_format(const std::string& dtype, const std::string& where) {
  if (dtype == "F32") return NumberFormat::F32;
  if (dtype == "F16") return NumberFormat::F16;
  if (dtype == "BF16") return NumberFormat::BF16;
  return Error(ErrorCode::NotSupported,
               where + ": dtype " + in_quotes(dtype) + " is not read; F32, F16 and BF16 are");
}

Result<std::vector<std::uint64_t>> unsigned_list(const JsonObject& object, const char* key,
                                                 std::size_t count_max) {
  const Json* list = object.find(key);
  if (list == nullptr || !list->is_array() || list->size() > count_max) {
    return corrupted_at(object.where(), std::string("\"") + key + "\" is not a list of at most " +
                                            std::to_string(count_max) + " numbers");
  }
  std::vector<std::uint64_t> numbers;
  for (const Json& each : *list) {
    if (!each.is_number_unsigned()) {
      return corrupted_at(object.where(), std::string("\"") + key + "\" holds " + each.type_name() +
                                              " that is not an integer of at least 0");
    }
    numbers.push_back(each.get<std::uint64_t>());
  }
  return numbers;
}

// Offsets in the result still count from the start of the data.
Result<SafetensorsTensor> parse_tensor(const std::string& name, const Json& json,
                                       const std::string& source_name, std::uint64_t data_bytes) {
  const std::string where = source_name + ": tensor " + in_quotes(name);
  if (!json.is_object()) return corrupted_at(where, "its description is not an object");
  const JsonObject object(json, where);
  SafetensorsTensor tensor;
  tensor.name = name;
  const std::string dtype = TRY(object.text("dtype"));
  tensor.format = TRY(number_format(dtype, where));
  tensor.dimensions = TRY(unsigned_list(object, "shape", kSafetensorsDimensionCountMax));
  const std::vector<std::uint64_t> offsets = TRY(unsigned_list(object, "data_offsets", 2));
  if (offsets.size() != 2 || offsets[0] > offsets[1] || offsets[1] > data_bytes) {
    return corrupted_at(where, "\"data_offsets\" are not two ascending offsets within the " +
                                   std::to_string(data_bytes) + " bytes of data");
  }
  tensor.offset = offsets[0];
  tensor.bytes = offsets[1] - offsets[0];
  std::uint64_t bytes = format_shape(tensor.format).block_bytes;
  bool overflows = false;
  for (const std::uint64_t dimension : tensor.dimensions) {
    overflows |= __builtin_mul_overflow(bytes, dimension, &bytes);
  }
  if (overflows || bytes != tensor.bytes) {
    return corrupted_at(where, "\"data_offsets\" span " + std::to_string(tensor.bytes) +
                                   " bytes, which is not what \"shape\" takes");
  }
  return tensor;
}

Result<Json> read_header(const ByteSource& source) {
  std::uint64_t length = 0;
  if (source.bytes() == 0) return Error(ErrorCode::Corrupted, source.name() + " is empty");
  if (source.bytes() < kLengthBytes) {
    return corrupted_at(source.name(), "byte 0: the file has " + std::to_string(source.bytes()) +
                                           " bytes, fewer than its header's length takes");
  }
  TRY(source.read(0, std::as_writable_bytes(std::span(&length, 1))));
  if (length > source.bytes() - kLengthBytes) {
    return corrupted_at(
        source.name(), "byte 0: the header says " + std::to_string(length) + " bytes, and " +
                           std::to_string(source.bytes() - kLengthBytes) + " are left in the file");
  }
  if (length > kSafetensorsHeaderBytesMax) {
    return Error(ErrorCode::TooLarge, source.name() + ": byte 0: the header has " +
                                          std::to_string(length) + " bytes; at most " +
                                          std::to_string(kSafetensorsHeaderBytesMax) + " are read");
  }
  std::string text(length, '\0');
  TRY(source.read(kLengthBytes, std::as_writable_bytes(std::span(text))));
  return parse_json(text, source.name(), kLengthBytes);
}

// Tensors in ascending order must tile the data.
Result<void> check_tiling(const std::vector<SafetensorsTensor>& tensors, const std::string& name,
                          std::uint64_t data_bytes) {
  std::uint64_t end = 0;
  for (const SafetensorsTensor& tensor : tensors) {
    if (tensor.offset != end) {
      return corrupted_at(name,
                          "tensor " + in_quotes(tensor.name) + " begins at data byte " +
                              std::to_string(tensor.offset) +
                              (tensor.offset < end ? ", inside the tensor before it, which ends at "
                                                   : ", and the tensor before it ends at ") +
                              std::to_string(end));
    }
    end += tensor.bytes;
  }
  if (end != data_bytes) {
    return corrupted_at(name, "the tensors end at data byte " + std::to_string(end) +
                                  ", and the file has " + std::to_string(data_bytes) +
                                  " bytes of data");
  }
  return {};
}

}  // namespace

Result<SafetensorsFile> SafetensorsFile::parse(std::shared_ptr<const ByteSource> source) {
  const Json header = TRY(read_header(*source));
  std::uint64_t header_bytes = 0;
  TRY(source->read(0, std::as_writable_bytes(std::span(&header_bytes, 1))));
  const std::uint64_t data_offset = kLengthBytes + header_bytes;
  const std::uint64_t data_bytes = source->bytes() - data_offset;
  if (!header.is_object())
    return corrupted_at(source->name(), "byte 8: the header is not an object");
  if (header.size() > kSafetensorsTensorCountMax) {
    return Error(ErrorCode::TooLarge, source->name() + ": " + std::to_string(header.size()) +
                                          " tensors; at most " +
                                          std::to_string(kSafetensorsTensorCountMax));
  }
  SafetensorsFile file;
  for (const auto& [name, json] : header.items()) {
    if (name == "__metadata__") continue;
    file.tensors.push_back(TRY(parse_tensor(name, json, source->name(), data_bytes)));
  }
  std::sort(file.tensors.begin(), file.tensors.end(),
            [](const SafetensorsTensor& a, const SafetensorsTensor& b) {
              return std::tie(a.offset, a.bytes) < std::tie(b.offset, b.bytes);
            });
  TRY(check_tiling(file.tensors, source->name(), data_bytes));
  for (SafetensorsTensor& tensor : file.tensors) {
    tensor.offset += data_offset;
    tensor.source = source;
  }
  return file;
}

}  // namespace quire::inference
