#pragma once
// These checks find files that can never be a model here, before all of their weights have come.
//
// check_tokenizer() wants the names of the files, and check_config() the text of config.json.
// WeightsCheck reads the beginning of a file of weights while the rest comes. Architecture, number
// formats and tensors stand there.
//
// Thread   any but the engine's: they read files.
// Errors   NotSupported names the file, what is wrong in it and what is supported. Another attempt
//          with the same files would end in the same error.
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"

namespace quire::inference {

// `names` are the files of the checkpoint `where`.
Result<void> check_tokenizer(const std::string& where, std::span<const std::string> names);

// The text of config.json of a model that is called `name`. What only the weights can decide is
// taken.
Result<void> check_config(const std::string& config, const std::string& name);

class WeightsCheck {
 public:
  // A file NAME.gguf or NAME.safetensors of `bytes`, which comes to `path`; any other passes.
  // `name` is for messages. Of a model in shards, each is looked at by itself.
  WeightsCheck(std::string name, std::string path, std::uint64_t bytes, bool is_shard);

  // There are `bytes_here` at the path now. Bytes that may be damaged pass.
  Result<void> see(std::uint64_t bytes_here);

 private:
  Result<void> look(std::uint64_t bytes_here);

  std::string name_;
  std::string path_;
  std::uint64_t bytes_;
  bool is_shard_;
  std::uint64_t next_look_bytes_;
  bool is_done_ = false;
};

}  // namespace quire::inference
