// This file has the part of machine.h that needs no engine: finding a model, and its text codec.
#include <filesystem>
#include <system_error>

#include "inference/architectures/model_files.h"
#include "inference/model_store/model_store.h"
#include "inference/tokenizer/tokenizer_parts.h"
#include "main/machine/machine.h"

namespace quire {

Result<std::string> find_model(const std::string& model) {
  Result<std::string> folder = inference::data_folder_from_environment();
  if (folder.ok()) return inference::ModelStore(folder.value()).resolve(model);
  // Without a data folder there are no names, and a path is as good as ever.
  std::error_code unknown;
  if (!model.empty() && std::filesystem::exists(model, unknown)) return model;
  const Error& error = folder.error();
  return Error(error.code(), std::string(error.message()) + ", or give the path of a model");
}

Result<std::unique_ptr<inference::TextCodec>> open_text_codec(const std::string& model) {
  const std::string path = TRY(find_model(model));
  const std::unique_ptr<inference::ModelFiles> files = TRY(inference::open_model(path));
  inference::ModelTextCodec text = TRY(inference::open_text_codec(*files));
  return std::move(text.codec);
}

}  // namespace quire
