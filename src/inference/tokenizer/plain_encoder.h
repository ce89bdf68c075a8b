#pragma once
// PlainEncoder: the part of a tokenizer that turns text between special tokens into ids.
//
// Thread   any; implementations are immutable.
#include <string_view>
#include <vector>

#include "base/result.h"
#include "inference/api/types.h"
#include "inference/tokenizer/special_tokens.h"

namespace quire::inference {

class PlainEncoder {
 public:
  virtual ~PlainEncoder() = default;

  // `text` is UTF-8, `pieces` cover it in order. Tokens among them are taken as they are.
  virtual Result<std::vector<TokenId>> encode(std::string_view text,
                                              const std::vector<TextPiece>& pieces) const = 0;
};

}  // namespace quire::inference
