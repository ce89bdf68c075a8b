#pragma once
// EngineEncoder: tokenizers that the Rust library runs: byte-level BPE made of parts, and anything
// a tokenizer.json describes. In a build without engines/ making one is NotSupported.
//
// Owns     the library's tokenizer.
// Thread   any.
#include <memory>
#include <string_view>

#include "inference/tokenizer/plain_encoder.h"
#include "inference/tokenizer/pre_tokenizers.h"
#include "inference/tokenizer/vocabulary.h"

namespace quire::inference {

struct BytePairParts {
  std::vector<std::string_view> tokens;  // By id; empty: a token that no text becomes.
  std::vector<std::string_view> merges;
  PreTokenizer pre;
};

Result<std::unique_ptr<PlainEncoder>> make_byte_pair_encoder(const BytePairParts& parts);

// The content of a tokenizer.json in addition to its encoder.
struct JsonTokenizer {
  std::unique_ptr<PlainEncoder> encoder;
  Vocabulary vocabulary;
  std::vector<SpecialToken> added;
  std::vector<TokenId> prefix;  // What its post-processor puts around an empty text.
};
Result<JsonTokenizer> make_json_tokenizer(std::string_view json);

// Whether a text like this is one that only templates and models may write: "<|im_end|>".
bool looks_like_control(std::string_view text);

}  // namespace quire::inference
