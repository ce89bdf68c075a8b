#pragma once
// ModelStore: the models of this user, by name, in the folder models/ of the data folder.
//
// A model NAME is models/NAME.gguf, a folder models/NAME/ with config.json and safetensors, or such
// a folder with all shards of a GGUF model. The file models/NAME.sha256 records the digest of each
// of its files, as sha256sum writes and checks them.
//
// Owns     the content of models/. A model appears and disappears whole, by a rename. The parts of
//          a model that a hub has sent so far stay in models/.fetch.NAME/ (part_files.h).
// Thread   any but the engine's: everything here may block on a disk or on the network.
// Errors   NotFound names the model and says how to get one; AlreadyExists; Corrupted from verify
//          and for files that are not a model; Io; the errors of download() and fetch_from_hub().
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "inference/model_store/hub_client.h"
#include "inference/model_store/hub_fetch.h"
#include "inference/model_store/progress.h"
#include "inference/model_store/stored_files.h"

namespace quire::inference {

inline constexpr std::string_view kDefaultModel = "smollm2-135m-instruct";

struct StoredModel {
  std::string name;
  std::string path;         // For open_model(); of a model in shards, the first.
  std::uint64_t bytes = 0;  // Of all its files.
};

enum class AddMode : std::uint8_t { Copy, Link };  // Link: a symbolic link to where it lies.

// The files that a hub is about to send.
struct HubPlan {
  std::string name;    // What the model will be called.
  std::string source;  // The reference, and the hub if it is not the usual one.
  std::uint64_t bytes = 0;
  std::uint64_t bytes_here = 0;  // From an earlier attempt.
};

struct AddOptions {
  std::string name;  // Empty: from the file's or folder's name.
  AddMode mode = AddMode::Copy;
  Progress progress;
  std::optional<HubAccess> hub = {};                 // Empty: as the environment says.
  std::function<void(const HubPlan&)> on_plan = {};  // Before the first byte.
  std::chrono::milliseconds pause{1000};             // As of HubFetchOptions.
};

// QUIRE_DATA, else XDG_DATA_HOME/quire, else HOME/.local/share/quire; NotFound when none is set.
Result<std::string> data_folder_from_environment();

class ModelStore final {
 public:
  explicit ModelStore(const std::string& data_folder) : folder_(data_folder + "/models") {}

  const std::string& folder() const { return folder_; }

  // By name. An empty store, or one whose folder does not exist yet, gives an empty list.
  Result<std::vector<StoredModel>> list() const;

  bool has(const std::string& name) const { return find(name).ok(); }

  // The path of a model: a name in the store, or any path that exists. Empty: the default model.
  Result<std::string> resolve(const std::string& name_or_path) const;

  // Adds a model. The source is the name of a known model (known_models.h), a model of a hub
  // (model_reference.h), or a path or URL (file, http, https). A path is a GGUF file, any shard of
  // a GGUF model, or a folder; a URL is a GGUF file or shard. A name is not treated as a file:
  // "./NAME" is. add() refuses what open_model() does not accept.
  Result<StoredModel> add(const std::string& source, const AddOptions& options) const;

  // Removes the model, and the parts that a hub has sent so far.
  Result<void> remove(const std::string& name) const;

  // Reads every byte and compares digests with the record. Corrupted names the file.
  Result<void> verify(const std::string& name, const Progress& progress) const;

 private:
  Result<std::string> entry_of(const std::string& name) const;
  Result<StoredModel> find(const std::string& name) const;
  Result<std::string> fetch(const std::string& source, const std::string& name,
                            const std::string& work, const AddOptions& options) const;
  Result<StoredModel> add_from_hub(const std::string& source, AddOptions options) const;
  Result<StoredModel> add_chosen(const HubClient& hub, const ModelReference& reference,
                                 const ChosenModel& model, const AddOptions& options) const;
  Result<void> check_free(const std::string& name) const;
  // Checks the model at `path` and gives it its name. SHA-256 by name of its files, as far as
  // known.
  using Digests = std::map<std::string, std::string>;
  Result<StoredModel> keep(const std::string& path, const std::string& name, const WorkFolder& work,
                           const Digests& digests) const;
  Error no_such_model(const std::string& name) const;

  std::string folder_;
};

}  // namespace quire::inference
