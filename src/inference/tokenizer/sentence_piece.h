#pragma once
// SentencePiece: BPE by score, as GGUF's tokenizer model "llama" describes it. Among adjacent
// tokens whose joined text is a token, the pair with the highest score (the leftmost of equals) is
// joined first. A character that is not a token becomes its bytes' tokens.
//
// Owns     the texts of all tokens. Built once, then immutable.
// Thread   any.
// Errors   create: InvalidArgument for scores that cannot be ordered. encode: InvalidArgument when
//          a character has neither a token nor byte tokens and there is no token for the unknown.
//
// Cost     O(n log n) for n bytes of text: a queue of candidate pairs, each limited by the longest
//          token.
#include <array>
#include <string>
#include <unordered_map>

#include "inference/tokenizer/plain_encoder.h"
#include "inference/tokenizer/tokenizer_parts.h"

namespace quire::inference {

class SentencePiece final : public PlainEncoder {
 public:
  // `parts` were checked by make_text_codec.
  static Result<std::unique_ptr<SentencePiece>> create(const TokenizerParts& parts);

  Result<std::vector<TokenId>> encode(std::string_view text,
                                      const std::vector<TextPiece>& pieces) const override;

 private:
  struct Entry {
    TokenId id{};
    float score = 0.0f;
  };
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>{}(text);
    }
  };
  struct Symbol;
  struct Candidate;
  class Merger;

  const Entry* find(std::string_view text) const;
  Result<void> append_symbol(std::string_view text, std::vector<TokenId>& out) const;

  std::unordered_map<std::string, Entry, TextHash, std::equal_to<>> entries_;
  std::array<std::int32_t, 256> byte_tokens_{};  // -1: none.
  std::int32_t unknown_id_ = -1;
  std::size_t token_bytes_max_ = 0;
  bool add_space_prefix_ = true;
};

}  // namespace quire::inference
