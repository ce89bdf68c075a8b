#pragma once
// A GGUF model in one file, or in shards as llama.cpp's gguf-split writes them:
// NAME-00001-of-00003.gguf and so on. The first shard holds the metadata, each shard holds some of
// the tensors, and split.no, split.count and split.tensors.count in every shard say which shard of
// how many it is. A model whose shards are not all there never passes for a smaller one.
//
// Thread   any; no state.
// Errors   NotFound names the shard that is missing; Corrupted names the files and the numbers that
//          disagree; TooLarge beyond kGgufShardCountMax; and those of GgufFile::parse.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "inference/weights/byte_source.h"
#include "inference/weights/gguf_file.h"

namespace quire::inference {

inline constexpr std::uint32_t kGgufShardCountMax = 512;  // Each is an open file.

// The parts of a shard's name. `stem` is the path up to the "-" before the numbers.
struct ShardName {
  std::string stem;
  std::uint32_t number = 1;  // From 1 to count.
  std::uint32_t count = 1;

  std::string path_of(std::uint32_t shard_number) const;
};
// Empty where the name does not end in -NNNNN-of-NNNNN.gguf.
std::optional<ShardName> parse_shard_name(const std::string& path);

// The name of a model in the file or folder `path`: its last part without ".gguf" and without the
// numbers of a shard.
std::string model_name_of(const std::string& path);

// Opens a file by its path. The shards of a model lie beside each other.
using OpenSource =
    std::function<Result<std::shared_ptr<const ByteSource>>(const std::string& path)>;

// `path` is a whole model or any of its shards. The result holds the metadata of the first shard
// and the tensors of all.
Result<GgufFile> read_gguf(const std::string& path, const OpenSource& open);

}  // namespace quire::inference
