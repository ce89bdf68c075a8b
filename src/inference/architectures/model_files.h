#pragma once
// ModelFiles: one model on disk, opened and checked: a GGUF file or its shards, or a folder with
// config.json and safetensors. Everything here was validated: hyperparameters are bounded, every
// tensor that the body needs exists with the right shape and lies inside its file.
//
// Owns     the open files. Tensor bytes stay on disk until weights().read().
// Thread   any; nothing changes after open_model.
// Errors   NotFound, Io; Corrupted with field and byte offset for files that contradict themselves;
//          NotSupported naming what this build lacks.
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/sha256.h"
#include "inference/weights/gguf_file.h"
#include "inference/weights/gguf_shards.h"
#include "inference/weights/model_spec.h"
#include "inference/weights/weight_source.h"

namespace quire::inference {

// The texts beside the weights in a folder. A text is empty if its file is missing.
struct TokenizerTexts {
  struct Named {
    std::string name;
    std::string text;
  };
  std::string tokenizer_json;
  std::string tokenizer_config_json;
  std::string special_tokens_map_json;
  std::string generation_config_json;
  std::string chat_template;                     // chat_template.jinja
  std::string chat_template_json;                // chat_template.json, the older form
  std::vector<Named> additional_chat_templates;  // additional_chat_templates/NAME.jinja
};

class ModelFiles final {
 public:
  ModelFiles(std::string path, ModelSpec spec, WeightSource weights,
             std::unique_ptr<GgufMetadata> metadata, TokenizerTexts texts);

  const std::string& path() const { return path_; }
  const ModelSpec& spec() const { return spec_; }
  const WeightSource& weights() const { return weights_; }
  const GgufMetadata* gguf_metadata() const { return metadata_.get(); }  // Null for a folder.
  const TokenizerTexts& tokenizer_texts() const { return texts_; }       // Empty for a GGUF.

 private:
  std::string path_;
  ModelSpec spec_;
  WeightSource weights_;
  std::unique_ptr<GgufMetadata> metadata_;
  TokenizerTexts texts_;
};

// A GGUF file, any shard of a GGUF model, or a folder that holds config.json and model.safetensors
// (or its index and shards).
Result<std::unique_ptr<ModelFiles>> open_model(const std::string& path);

// A GGUF model whose files `open` gives.
Result<std::unique_ptr<ModelFiles>> open_gguf_model(const std::string& path,
                                                    const OpenSource& open);
// A whole GGUF file whose bytes lie elsewhere.
Result<std::unique_ptr<ModelFiles>> open_gguf_model(std::shared_ptr<const ByteSource> source);

// The digest names everything that the bits of keys and values depend on in the model itself: the
// numbers in ModelSpec and, in tensor order, role, format, shape and bytes of every tensor. A
// loader that reads all bytes anyway feeds them here; digest_model reads the files.
class ModelDigester {
 public:
  explicit ModelDigester(const ModelSpec& spec);
  void begin_tensor(const TensorInfo& tensor);
  void add(std::span<const std::byte> rows) { hash_.add(rows); }
  Digest finish() { return hash_.finish(); }

 private:
  Sha256 hash_;
};
Result<Digest> digest_model(const ModelFiles& model);

}  // namespace quire::inference
