#pragma once
// Files of adapters on this machine: what is in them, and their bytes for a server.
//
// Thread   any; no state.
// Errors   those of inference/api/adapter_reader.h; Io.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "inference/api/adapter.h"
#include "inference/api/adapter_reader.h"
#include "wire/frames.h"

namespace quire {

// Reads adapters for a model without its weights.
class LocalAdapters {
 public:
  // A name, a file or a folder; empty: the default model.
  static Result<LocalAdapters> open(const std::string& model);

  const std::string& model() const { return model_; }
  Result<std::shared_ptr<const inference::Adapter>> read(const std::string& path) const;

 private:
  LocalAdapters(std::string model, std::unique_ptr<inference::AdapterReader> reader)
      : model_(std::move(model)), reader_(std::move(reader)) {}

  std::string model_;
  std::unique_ptr<inference::AdapterReader> reader_;
};

// The adapters in a folder: folders that PEFT saved, and GGUF files. By name.
Result<std::vector<std::string>> adapters_in(const std::string& folder);

// "query 30, value 30": how many layers have which matrices.
std::string matrices_text(const inference::Adapter& adapter);

// The files that a server wants of the adapter at `path`, one after the other.
struct AdapterContent {
  std::vector<wire::UploadedFile> files;
  std::string bytes;
};
Result<AdapterContent> read_content(const std::string& path);

}  // namespace quire
