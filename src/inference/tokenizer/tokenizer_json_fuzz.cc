// The JSON files of a folder, all hostile: tokenizer.json, tokenizer_config.json, a text or a chat
// request, chat_template.jinja; each but the last ends with a zero byte.
#include <algorithm>
#include <cstdint>
#include <string_view>

#include "inference/architectures/model_files.h"
#include "inference/tokenizer/tokenizer_parts.h"
#include "support/codec_exercise.h"

using namespace quire::inference;

namespace {

// The next field of the input: everything up to a zero byte.
std::string_view next_field(std::string_view& input) {
  const std::size_t end = std::min(input.find('\0'), input.size());
  const std::string_view field = input.substr(0, end);
  input.remove_prefix(std::min(end + 1, input.size()));
  return field;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  TokenizerTexts texts;
  texts.tokenizer_json = next_field(input);
  texts.tokenizer_config_json = next_field(input);
  const std::string_view text = next_field(input);
  texts.chat_template = input;
  ModelSpec spec;
  spec.vocabulary_size = size % 2 == 0 ? 0 : 20;  // More than small files hold: padding.
  const ModelFiles model("fuzz", spec, WeightSource({}), nullptr, std::move(texts));
  const auto made = open_text_codec(model);
  if (made.ok()) quire::test::exercise_codec(*made.value().codec, text);
  return 0;
}
