#pragma once
// ModelStore: the models of this user, by name, in the folder models/ of the data folder.
//
// A model NAME is models/NAME.gguf, a folder models/NAME/ with config.json and safetensors, or such
// a folder with all shards of a GGUF model. models/NAME.sha256 records the digest of each of its
// files, as sha256sum writes and checks them.
//
// Owns     what lies in models/. A model appears and disappears whole, by a rename.
// Thread   any but the engine's: everything here may block on a disk or on the network.
// Errors   NotFound names the model and says how to get one; AlreadyExists; Corrupted from verify
//          and for files that are not a model; Io; what download() gives.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "inference/model_store/progress.h"

namespace quire::inference {

inline constexpr std::string_view kDefaultModel = "smollm2-135m-instruct";

struct StoredModel {
  std::string name;
  std::string path;         // For open_model(); of a model in shards, the first.
  std::uint64_t bytes = 0;  // Of all its files.
};

enum class AddMode : std::uint8_t { Copy, Link };  // Link: a symbolic link to where it lies.
struct AddOptions {
  std::string name;  // Empty: from the file's or folder's name.
  AddMode mode = AddMode::Copy;
  Progress progress;
};

// QUIRE_DATA, else XDG_DATA_HOME/quire, else HOME/.local/share/quire; NotFound when none is set.
Result<std::string> data_folder_from_environment();

class ModelStore final {
 public:
  explicit ModelStore(const std::string& data_folder) : folder_(data_folder + "/models") {}

  const std::string& folder() const { return folder_; }

  // By name. An empty store, or one whose folder does not exist yet, gives an empty list.
  Result<std::vector<StoredModel>> list() const;

  // The path of a model: a name in the store, or any path that exists. Empty: the default model.
  Result<std::string> resolve(const std::string& name_or_path) const;

  // From a GGUF file, any shard of a GGUF model, a folder, or the URL of a GGUF file or shard
  // (file, http, https). add() refuses what open_model() does not accept.
  Result<StoredModel> add(const std::string& source, const AddOptions& options) const;

  Result<void> remove(const std::string& name) const;

  // Reads every byte and compares digests with the record. Corrupted names the file.
  Result<void> verify(const std::string& name, const Progress& progress) const;

 private:
  Result<std::string> entry_of(const std::string& name) const;
  Result<StoredModel> find(const std::string& name) const;
  Result<std::string> fetch(const std::string& source, const std::string& name,
                            const std::string& work, const AddOptions& options) const;
  Error no_such_model(const std::string& name) const;

  std::string folder_;
};

}  // namespace quire::inference
