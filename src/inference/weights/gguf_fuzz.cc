// Any bytes as a GGUF model: an error, or a model whose every tensor can be read.
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/check.h"
#include "inference/weights/model_files.h"

using quire::Result;
using namespace quire::inference;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  const auto* first = reinterpret_cast<const std::byte*>(data);
  auto source =
      std::make_shared<MemorySource>("fuzz", std::vector<std::byte>(first, first + bytes));
  Result<std::unique_ptr<ModelFiles>> model = open_gguf_model(source);
  if (!model.ok()) {
    QUIRE_CHECK(!model.error().message().empty(), "an error says what is wrong");
    return 0;
  }
  QUIRE_CHECK(digest_model(*model.value()).ok(), "every tensor lies in its file");
  const GgufMetadata& metadata = *model.value()->gguf_metadata();
  for (const std::string& key : metadata.keys()) {
    QUIRE_CHECK(metadata.has(key), "keys() names what is there");
    (void)metadata.find_i32(key);
    (void)metadata.find_u64(key);
    (void)metadata.find_bool(key);
    (void)metadata.u32(key);
    (void)metadata.real(key);
    (void)metadata.text(key);
    (void)metadata.integers(key);
    (void)metadata.reals(key);
    Result<const TextArray*> texts = metadata.texts(key);
    if (!texts.ok()) continue;
    const TextArray& array = *texts.value();
    for (std::size_t index = 0; index < array.size(); ++index) (void)array[index].size();
  }
  return 0;
}
