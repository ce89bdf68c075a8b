// What machine.h offers without an engine: finding a model, and its text codec.
#include "inference/tokenizer/tokenizer_parts.h"
#include "inference/weights/model_files.h"
#include "inference/weights/model_store.h"
#include "main/machine/machine.h"

namespace quire {

Result<std::string> find_model(const std::string& model) {
  const std::string folder = TRY(inference::data_folder_from_environment());
  return inference::ModelStore(folder).resolve(model);
}

Result<std::unique_ptr<inference::TextCodec>> open_text_codec(const std::string& model) {
  const std::string path = TRY(find_model(model));
  const std::unique_ptr<inference::ModelFiles> files = TRY(inference::open_model(path));
  inference::ModelTextCodec text = TRY(inference::open_text_codec(*files));
  return std::move(text.codec);
}

}  // namespace quire
