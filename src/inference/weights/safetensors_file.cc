#include "inference/weights/safetensors_file.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "inference/weights/strict_json.h"

namespace quire::inference {
namespace {

constexpr std::uint64_t kLengthBytes = 8;

Error corrupted(const std::string& where, const std::string& what) {
  return Error(ErrorCode::Corrupted, where + ": " + what);
}

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
    return corrupted(object.where(), std::string("\"") + key + "\" is no list of at most " +
                                         std::to_string(count_max) + " numbers");
  }
  std::vector<std::uint64_t> numbers;
  for (const Json& each : *list) {
    if (!each.is_number_unsigned()) {
      return corrupted(object.where(), std::string("\"") + key + "\" holds " + each.type_name() +
                                           " that is no integer of at least 0");
    }
    numbers.push_back(each.get<std::uint64_t>());
  }
  return numbers;
}

// Offsets in the result still count from the start of the data.
Result<SafetensorsTensor> parse_tensor(const std::string& name, const Json& json,
                                       const std::string& source_name, std::uint64_t data_bytes) {
  const std::string where = source_name + ": tensor " + in_quotes(name);
  if (!json.is_object()) return corrupted(where, "its description is no object");
  const JsonObject object(json, where);
  SafetensorsTensor tensor;
  tensor.name = name;
  const std::string dtype = TRY(object.text("dtype"));
  tensor.format = TRY(number_format(dtype, where));
  tensor.dimensions = TRY(unsigned_list(object, "shape", kSafetensorsDimensionCountMax));
  const std::vector<std::uint64_t> offsets = TRY(unsigned_list(object, "data_offsets", 2));
  if (offsets.size() != 2 || offsets[0] > offsets[1] || offsets[1] > data_bytes) {
    return corrupted(where, "\"data_offsets\" are not two ascending offsets within the " +
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
    return corrupted(where, "\"data_offsets\" span " + std::to_string(tensor.bytes) +
                                " bytes, which is not what \"shape\" takes");
  }
  return tensor;
}

Result<Json> read_header(const ByteSource& source) {
  std::uint64_t length = 0;
  if (source.bytes() < kLengthBytes) {
    return corrupted(source.name(), "byte 0: the file has " + std::to_string(source.bytes()) +
                                        " bytes, fewer than its header's length takes");
  }
  TRY(source.read(0, std::as_writable_bytes(std::span(&length, 1))));
  if (length > source.bytes() - kLengthBytes) {
    return corrupted(source.name(),
                     "byte 0: the header says " + std::to_string(length) + " bytes, and " +
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
      return corrupted(name,
                       "tensor " + in_quotes(tensor.name) + " begins at data byte " +
                           std::to_string(tensor.offset) +
                           (tensor.offset < end ? ", inside the tensor before it, which ends at "
                                                : ", and the tensor before it ends at ") +
                           std::to_string(end));
    }
    end += tensor.bytes;
  }
  if (end != data_bytes) {
    return corrupted(name, "the tensors end at data byte " + std::to_string(end) +
                               ", and the file has " + std::to_string(data_bytes) +
                               " bytes of data");
  }
  return {};
}

// Which shard holds each tensor, by the index.
Result<std::map<std::string, std::string>> read_index(const std::string& path) {
  const std::string text = TRY(read_file(path, kSafetensorsIndexBytesMax));
  const Json json = TRY(parse_json(text, path));
  if (!json.is_object()) return corrupted(path, "the index is no JSON object");
  const Json* map = JsonObject(json, path).find("weight_map");
  if (map == nullptr || !map->is_object() || map->empty()) {
    return corrupted(path, "\"weight_map\" is no object with members");
  }
  std::map<std::string, std::string> shards;
  for (const auto& [tensor, file] : map->items()) {
    const std::string name = file.is_string() ? file.get<std::string>() : std::string();
    if (!name.ends_with(".safetensors") || name.find('/') != std::string::npos ||
        name.find('\0') != std::string::npos) {
      return corrupted(path, "tensor " + in_quotes(tensor) + " lies in " + in_quotes(name) +
                                 ", which is no name of a .safetensors file beside the index");
    }
    shards.emplace(tensor, name);
  }
  return shards;
}

Result<SafetensorsFile> open_shards(const std::string& folder, const std::string& index_path) {
  const std::map<std::string, std::string> shards = TRY(read_index(index_path));
  std::set<std::string> names;
  for (const auto& [tensor, shard] : shards) names.insert(shard);
  if (names.size() > kSafetensorsShardCountMax) {
    return Error(ErrorCode::TooLarge, index_path + ": " + std::to_string(names.size()) +
                                          " shards; at most " +
                                          std::to_string(kSafetensorsShardCountMax));
  }
  SafetensorsFile all;
  for (const std::string& shard : names) {
    File file = TRY(File::open(folder + "/" + shard));
    SafetensorsFile part =
        TRY(SafetensorsFile::parse(std::make_shared<FileSource>(std::move(file))));
    for (SafetensorsTensor& tensor : part.tensors) {
      const auto entry = shards.find(tensor.name);
      if (entry == shards.end() || entry->second != shard) {
        return corrupted(index_path, "tensor " + in_quotes(tensor.name) + " lies in " +
                                         in_quotes(shard) + ", which the index does not say");
      }
      all.tensors.push_back(std::move(tensor));
    }
  }
  if (all.tensors.size() != shards.size()) {
    return corrupted(index_path, "the index names " + std::to_string(shards.size()) +
                                     " tensors, and the shards hold " +
                                     std::to_string(all.tensors.size()));
  }
  return all;
}

}  // namespace

Result<SafetensorsFile> SafetensorsFile::parse(std::shared_ptr<const ByteSource> source) {
  const Json header = TRY(read_header(*source));
  std::uint64_t header_bytes = 0;
  TRY(source->read(0, std::as_writable_bytes(std::span(&header_bytes, 1))));
  const std::uint64_t data_offset = kLengthBytes + header_bytes;
  const std::uint64_t data_bytes = source->bytes() - data_offset;
  if (!header.is_object()) return corrupted(source->name(), "byte 8: the header is no object");
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

Result<SafetensorsFile> SafetensorsFile::open_folder(const std::string& folder) {
  const std::string index_path = folder + "/model.safetensors.index.json";
  Result<File> whole = File::open(folder + "/model.safetensors");
  if (whole.ok()) return parse(std::make_shared<FileSource>(std::move(whole).take()));
  if (whole.error().code() != ErrorCode::NotFound) return std::move(whole).take_error();
  Result<SafetensorsFile> sharded = open_shards(folder, index_path);
  if (!sharded.ok() && sharded.error().code() == ErrorCode::NotFound) {
    return std::move(sharded).take_error().while_("no model.safetensors in " + folder);
  }
  return sharded;
}

}  // namespace quire::inference
