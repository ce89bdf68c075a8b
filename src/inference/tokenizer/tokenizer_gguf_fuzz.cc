// A GGUF file's metadata as a tokenizer: byte-level BPE or SentencePiece by score, of hostile
// vocabularies, scores, types and merges. The file also carries the text, under "fuzz.text".
#include <cstdint>
#include <memory>

#include "inference/architectures/model_files.h"
#include "inference/tokenizer/tokenizer_parts.h"
#include "support/codec_exercise.h"

using namespace quire::inference;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto* first = reinterpret_cast<const std::byte*>(data);
  auto source = std::make_shared<MemorySource>("fuzz", std::vector<std::byte>(first, first + size));
  quire::Result<GgufFile> file = GgufFile::parse(source);
  if (!file.ok()) return 0;
  ModelSpec spec;
  spec.vocabulary_size = size % 2 == 0 ? 0 : 20;  // More than small files hold: padding.
  const ModelFiles model("fuzz", spec, WeightSource({}), std::move(file.value().metadata), {});
  const auto made = open_text_codec(model);
  if (!made.ok()) return 0;
  const auto text = model.gguf_metadata()->find_text("fuzz.text");
  quire::test::exercise_codec(*made.value().codec,
                              text.ok() && text.value() ? *text.value() : "he llo");
  return 0;
}
