#pragma once
// How BPE cuts a text into words, by the name that GGUF files give it ("tokenizer.ggml.pre").
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace quire::inference {

struct PreTokenizer {
  std::span<const std::string_view> patterns;  // Each cuts what the one before left.
  bool ignore_merges = false;                  // A word that is a token is that token.
  bool adds_bos = false;                       // If the file does not say.
  bool is_raw = false;             // Tokens are spelled as text, not in GPT-2's alphabet.
  bool escapes_spaces = false;     // Raw text only: a space is U+2581.
  bool whole_line_ends = false;    // Line ends in a row that are a token are that token.
  bool mask_takes_spaces = false;  // "<mask>" takes the white space before it along.
};

// NotSupported naming an unknown one; a file without a name has none to fall back to.
Result<PreTokenizer> find_pre_tokenizer(std::string_view name);

std::vector<std::string_view> pre_tokenizer_names();

}  // namespace quire::inference
