#pragma once
// AdapterReader: reads adapters for one model, from the forms in which they are published: a PEFT
// folder (adapter_config.json and adapter_model.safetensors) and a GGUF file.
//
// The application makes one beside the device (make_adapter_reader of inference/adapters/) and
// gives it to those that read; it knows the shape of the model and nothing else. The simulation
// makes its own. Reading waits for the disk, so it does not belong on the engine thread.
//
// Thread   any; reads may run on several threads at once.
// Errors   NotFound and Io; Corrupted for files that contradict themselves or the model;
//          NotSupported for what is not implemented, by its name; TooLarge beyond the limits;
//          PermissionDenied for a path that leaves `beneath`. After an error nothing is kept.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "inference/api/adapter.h"

namespace quire::inference {

// The limits of one adapter, checked against the files before the numbers are read.
struct AdapterLimits {
  std::uint32_t rank_max = kAdapterRankMax;
  std::uint64_t bytes_max = std::uint64_t{8} << 30;  // Of matrices.
};

// A folder in PEFT's form, or a GGUF file.
struct AdapterSource {
  std::string path{};
  // Empty: `path` may lie anywhere, and links in it may lead out, as in Hugging Face's cache. A
  // folder: `path` is relative to it, and is opened without leaving it, whatever ".." and links
  // say. Errors name paths from its last part on.
  std::string beneath{};
};

// The same files in memory, as a client uploads them: adapter_config.json and
// adapter_model.safetensors, or one file whose name ends in ".gguf".
struct AdapterFile {
  std::string name;
  std::vector<std::byte> bytes;
};

class AdapterReader {
 public:
  virtual ~AdapterReader() = default;
  virtual Result<std::shared_ptr<const Adapter>> read(const AdapterSource& source,
                                                      const AdapterLimits& limits) const = 0;
  virtual Result<std::shared_ptr<const Adapter>> read(std::vector<AdapterFile> files,
                                                      const AdapterLimits& limits) const = 0;
  // The bytes of the file with the matrices, which is opened for it and not read.
  virtual Result<std::uint64_t> bytes_of(const AdapterSource& source) const = 0;
};

}  // namespace quire::inference
