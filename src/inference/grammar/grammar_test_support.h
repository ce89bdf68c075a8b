#pragma once
// A small vocabulary for tests of grammars: it can spell every text, and has a token of each kind.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "inference/tokenizer/tokenizer_parts.h"

namespace quire::test {

using inference::make_text_codec, inference::TextCodec, inference::TokenId;
using inference::TokenizerParts, inference::TokenType;

inline constexpr TokenId kStop{1};
inline constexpr std::uint32_t kFirstByte = 5;  // The token of byte 0; the others follow.
inline constexpr std::uint32_t kWords = kFirstByte + 256;  // The words follow.

// A stop token, a control token whose text is "ab", user-defined and unused ones, every byte, words.
inline TokenizerParts small_vocabulary() {
  TokenizerParts parts;
  parts.model = "llama";
  const auto add = [&](std::string text, TokenType type) {
    parts.tokens.push_back(std::move(text));
    parts.scores.push_back(-static_cast<float>(parts.tokens.size()));
    parts.token_types.push_back(static_cast<std::int32_t>(type));
  };
  add("<unk>", TokenType::Unknown);
  add("</s>", TokenType::Control);
  add("ab", TokenType::Control);
  add("<call>", TokenType::UserDefined);
  add("never", TokenType::Unused);
  for (unsigned byte = 0; byte < 256; ++byte) {
    std::array<char, 8> text{};
    std::snprintf(text.data(), text.size(), "<0x%02X>", byte);
    add(text.data(), TokenType::Byte);
  }
  for (const char* word :
       {"a", "b", "\u2581", "\u2581a", "12", "\u00e9", "n", "e", "v", "r", "<"}) {
    add(word, TokenType::Normal);
  }
  return parts;
}

inline std::unique_ptr<TextCodec> small_codec() {
  auto made = make_text_codec(small_vocabulary());
  if (!made.ok()) std::abort();
  return std::move(made).take();
}

// A token for each byte of a text.
inline std::vector<TokenId> byte_tokens(std::string_view text) {
  std::vector<TokenId> tokens;
  for (const char byte : text) {
    tokens.push_back(TokenId{kFirstByte + static_cast<unsigned char>(byte)});
  }
  return tokens;
}

}  // namespace quire::test
