#pragma once
// The fuzzers of tokenizers exercise a codec from hostile files: nothing crashes, an encoded text
// decodes, and every id is one of the vocabulary.
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "inference/api/text_codec.h"

namespace quire::test {

inline void exercise_codec(const inference::TextCodec& codec, std::string_view text) {
  using inference::TokenId;
  for (const bool parse_special : {false, true}) {
    const auto ids = codec.encode(text, {.parse_special = parse_special, .add_bos = true});
    if (!ids.ok()) continue;
    for (const TokenId id : ids.value()) {
      if (static_cast<std::uint32_t>(id) >= codec.vocabulary_size()) std::abort();
    }
    for (const bool keep_special : {false, true}) {
      if (!codec.decode(ids.value(), keep_special).ok()) std::abort();
    }
  }
  // The last id may be padding; the next one is not valid.
  const std::uint32_t count = codec.vocabulary_size();
  if (count > 0 && !codec.decode({TokenId{0}, TokenId{count - 1}}, true).ok()) std::abort();
  if (codec.decode({TokenId{count}}, true).ok()) std::abort();
  (void)codec.apply_chat_template(text);
  (void)codec.encode_chat(text);
  (void)codec.special(text);
}

}  // namespace quire::test
