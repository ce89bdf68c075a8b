#pragma once
// How byte-level BPE cuts a text into words, by the name that GGUF files give it.
#include <string_view>
#include <vector>

#include "base/result.h"

namespace quire::inference {

struct PreTokenizer {
  std::vector<std::string_view> patterns;  // Each cuts what the one before left.
  bool ignore_merges = false;              // A word that is a token is that token.
  bool adds_bos = false;                   // Where the file does not say.
};

// NotSupported naming an unknown one; a file without a name has none to fall back to.
Result<PreTokenizer> find_pre_tokenizer(std::string_view name);

}  // namespace quire::inference
