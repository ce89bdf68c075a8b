// tokenizer.json, tokenizer_config.json, a text and a chat request, all hostile: nothing crashes,
// what encodes decodes, and special tokens stay out of plain text.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "inference/tokenizer/tokenizer_parts.h"

using quire::inference::EncodeOptions;
using quire::inference::TextCodec;
using quire::inference::TokenId;

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
  const std::string_view tokenizer = next_field(input);
  const std::string_view config = next_field(input);
  const std::string_view text = next_field(input);
  const auto made = quire::inference::make_text_codec_from_json(tokenizer, config);
  if (!made.ok()) return 0;
  const TextCodec& codec = *made.value();
  for (const bool parse_special : {false, true}) {
    const auto ids = codec.encode(text, {.parse_special = parse_special, .add_bos = true});
    if (!ids.ok()) continue;
    for (const TokenId id : ids.value()) {
      if (static_cast<std::uint32_t>(id) >= codec.vocabulary_size()) std::abort();
    }
    if (!codec.decode(ids.value(), true).ok()) std::abort();
  }
  (void)codec.apply_chat_template(text);
  (void)codec.encode_chat(text);
  (void)codec.special(text);
  return 0;
}
