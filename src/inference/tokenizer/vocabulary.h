#pragma once
// Vocabulary: the bytes that each token stands for, in one buffer, and its kind.
//
// Owns     all bytes. Built once, then immutable.
// Thread   any.
// Errors   OutOfRange for an id beyond the vocabulary.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "inference/api/text_codec.h"
#include "inference/api/types.h"

namespace quire::inference {

// How the text of an ordinary token becomes bytes.
enum class Alphabet : std::uint8_t {
  ByteLevel,      // Each character stands for one byte, as in GPT-2.
  SentencePiece,  // U+2581 is a space and <0x0A> a byte; all else is itself.
};

struct TokenTraits {
  TokenKind kind = TokenKind::Text;
  bool literal = false;  // The text stands for itself: of control and added tokens.
  bool control = false;  // Decoding leaves it out unless asked to keep it.
};

class Vocabulary final {
 public:
  // The next token.
  void append(std::string_view text, Alphabet alphabet, TokenTraits traits);

  std::uint32_t size() const { return static_cast<std::uint32_t>(ends_.size()); }
  std::string_view bytes_of(std::uint32_t id) const {
    const std::size_t begin = id == 0 ? 0 : ends_[id - 1];
    return std::string_view(bytes_).substr(begin, ends_[id] - begin);
  }

  Result<TokenView> token(TokenId id) const;

  // The tokens' bytes one after the other; control tokens only where `keep_special`.
  Result<std::string> decode(const std::vector<TokenId>& tokens, bool keep_special) const;

 private:
  std::string bytes_;
  std::vector<std::size_t> ends_;
  std::vector<bool> control_;
  std::vector<TokenKind> kinds_;
};

// "<0x0A>" is 10; -1 for any other text.
int byte_of_token(std::string_view text);

// The byte that `code` stands for in GPT-2's alphabet; -1 when it stands for none.
int byte_of_character(char32_t code);

}  // namespace quire::inference
