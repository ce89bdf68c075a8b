// A checkpoint in a folder: one file, or an index and the shards it names.
#include <map>
#include <set>

#include "base/utf8.h"
#include "inference/weights/safetensors_file.h"
#include "inference/weights/strict_json.h"

namespace quire::inference {
namespace {

// Reads the shard that holds each tensor from the index.
Result<std::map<std::string, std::string>> read_index(const std::string& path) {
  const std::string text = TRY(read_file(path, kSafetensorsIndexBytesMax));
  const Json json = TRY(parse_json(text, path));
  if (!json.is_object()) return corrupted_at(path, "the index is not a JSON object");
  const Json* map = JsonObject(json, path).find("weight_map");
  if (map == nullptr || !map->is_object() || map->empty()) {
    return corrupted_at(path, "\"weight_map\" is not an object with members");
  }
  std::map<std::string, std::string> shards;
  for (const auto& [tensor, file] : map->items()) {
    const std::string name = file.is_string() ? file.get<std::string>() : std::string();
    if (!name.ends_with(".safetensors") || name.find('/') != std::string::npos ||
        name.find('\0') != std::string::npos) {
      return corrupted_at(path,
                          "tensor " + in_quotes(tensor) + " lies in " + in_quotes(name) +
                              ", which is not the name of a .safetensors file beside the index");
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
        return corrupted_at(index_path, "tensor " + in_quotes(tensor.name) + " lies in " +
                                            in_quotes(shard) + ", which the index does not say");
      }
      all.tensors.push_back(std::move(tensor));
    }
  }
  if (all.tensors.size() != shards.size()) {
    return corrupted_at(index_path, "the index names " + std::to_string(shards.size()) +
                                        " tensors, and the shards hold " +
                                        std::to_string(all.tensors.size()));
  }
  return all;
}

}  // namespace

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
