// Any bytes as a safetensors file, or as a config.json: an error, or tensors inside the file and a
// spec that validates. The first byte chooses.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/check.h"
#include "inference/architectures/model_config.h"
#include "inference/weights/safetensors_file.h"

using quire::Result;
using namespace quire::inference;

namespace {

void parse_weights(const std::byte* first, std::size_t bytes) {
  auto source =
      std::make_shared<MemorySource>("fuzz", std::vector<std::byte>(first, first + bytes));
  Result<SafetensorsFile> file = SafetensorsFile::parse(source);
  if (!file.ok()) return;
  std::vector<std::byte> content;
  for (const SafetensorsTensor& tensor : file.value().tensors) {
    QUIRE_CHECK(tensor.bytes <= bytes, "a tensor is no larger than its file");
    content.resize(tensor.bytes);
    QUIRE_CHECK(tensor.source->read(tensor.offset, content).ok(), "a tensor lies in its file");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  if (bytes == 0) return 0;
  const auto* first = reinterpret_cast<const std::byte*>(data) + 1;
  if (data[0] % 2 == 0) {
    parse_weights(first, bytes - 1);
    return 0;
  }
  ConfigTexts texts;
  texts.config.assign(reinterpret_cast<const char*>(first), bytes - 1);
  texts.generation_config = texts.config;
  texts.tokenizer_config = texts.config;
  texts.folder = "fuzz";
  Result<ModelSpec> spec = parse_model_config(texts);
  QUIRE_CHECK(!spec.ok() || spec.value().validate().ok(), "what comes out is valid");
  return 0;
}
