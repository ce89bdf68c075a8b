#pragma once
// PlainEncoder: the part of a tokenizer that turns text between special tokens into ids.
//
// A text goes through three hands: SpecialTokens cuts it, normalize() changes what is plain, and
// encode() takes the result. Between the last two, tokens are found that are looked for in
// normalized text.
//
// Thread   any; implementations are immutable.
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "inference/api/types.h"
#include "inference/tokenizer/special_tokens.h"

namespace quire::inference {

struct NormalizedText {
  std::string text;
  Origins origins;  // Empty unless asked for.
};

class PlainEncoder {
 public:
  virtual ~PlainEncoder() = default;

  // An encoder without a normalizer is never asked to normalize.
  virtual bool has_normalizer() const { return false; }
  virtual Result<NormalizedText> normalize(std::string_view text, bool) const {
    return NormalizedText{.text = std::string(text), .origins = {}};
  }

  // `text` is UTF-8 and normalized, `pieces` cover it in order. Tokens among them are taken as they
  // are.
  virtual Result<std::vector<TokenId>> encode(std::string_view text,
                                              const std::vector<TextPiece>& pieces) const = 0;
};

}  // namespace quire::inference
