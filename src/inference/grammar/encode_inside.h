#pragma once
// Encodes a text that stands inside a longer one.
#include <string_view>
#include <vector>

#include "inference/api/text_codec.h"

namespace quire::inference {

// Tokens that decode to exactly `text`, spelled as the codec spells it where it does not begin a
// text; no special token is among them. Empty if the codec has no such spelling: it may normalize.
std::vector<TokenId> encode_inside(const TextCodec& codec, std::string_view text);

}  // namespace quire::inference
