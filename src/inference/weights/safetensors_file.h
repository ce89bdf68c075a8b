#pragma once
// SafetensorsFile: the tensor directory of one safetensors file, and of a checkpoint in several.
//
// Files are hostile: header length, offsets, shapes and types are checked before use. Tensors must
// tile the data without gap or overlap. An error names the field. Tensor bytes are not read.
//
// Thread   any; nothing changes after parsing.
// Errors   Corrupted, NotSupported (number formats), TooLarge (the limits below).
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "inference/api/number_format.h"
#include "inference/weights/byte_source.h"

namespace quire::inference {

inline constexpr std::uint64_t kSafetensorsHeaderBytesMax = 100'000'000;
inline constexpr std::uint64_t kSafetensorsTensorCountMax = 65536;
inline constexpr std::uint64_t kSafetensorsDimensionCountMax = 8;
inline constexpr std::uint64_t kSafetensorsShardCountMax = 1024;
inline constexpr std::uint64_t kSafetensorsIndexBytesMax = 16 << 20;

struct SafetensorsTensor {
  std::string name;
  NumberFormat format{};
  std::vector<std::uint64_t> dimensions;  // Slowest first, as written. Empty: one number.
  std::uint64_t offset = 0;               // In the file.
  std::uint64_t bytes = 0;
  std::shared_ptr<const ByteSource> source;
};

struct SafetensorsFile {
  std::vector<SafetensorsTensor> tensors;  // By offset; shard after shard.

  static Result<SafetensorsFile> parse(std::shared_ptr<const ByteSource> source);

  // `folder` holds model.safetensors, or model.safetensors.index.json and the shards it names.
  static Result<SafetensorsFile> open_folder(const std::string& folder);
};

}  // namespace quire::inference
