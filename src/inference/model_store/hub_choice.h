#pragma once
// Chooses the files of a repository that are the model of a reference.
//
// A GGUF file is chosen by its quantization, which is a word of its path in any case. Q4_K_M is one
// of model-Q4_K_M.gguf, model.q4_k_m.gguf and Q4_K_M/model-00001-of-00002.gguf. It is not one of
// model-Q4_K_M_L.gguf. Without one, Q4_K_M is chosen, else the only GGUF model that there is. A
// GGUF file with "mmproj" in its path is not a model.
//
// A repository without GGUF files is a checkpoint. It has config.json, texts of the tokenizer, chat
// templates and safetensors.
//
// Thread   any; no state.
// Errors   NotFound lists the models that there are, with sizes; InvalidArgument if several fit;
//          NotSupported for a repository that holds neither form; TooLarge beyond the limits.
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "inference/model_store/hub_listing.h"
#include "inference/model_store/model_reference.h"

namespace quire::inference {

inline constexpr std::string_view kDefaultQuant = "Q4_K_M";

enum class ModelForm : std::uint8_t { OneFile, Shards, Folder };

struct ChosenModel {
  ModelForm form = ModelForm::OneFile;
  std::string name;            // What the model is called if the user gives no other name.
  std::vector<HubFile> files;  // Of shards in their order; of a folder with config.json first.

  std::uint64_t bytes() const;
  // The name of a file in the folder of a model that is called `model_name`, where additional chat
  // templates have a folder of their own; empty if it is one file.
  std::string stored_name(std::size_t index, const std::string& model_name) const;
};

Result<ChosenModel> choose_model(const ModelReference& reference,
                                 const std::vector<HubFile>& files);

// The last part of a path without ".gguf" and the numbers of a shard, in lower case.
std::string stored_model_name(const std::string& path);

}  // namespace quire::inference
