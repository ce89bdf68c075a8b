#pragma once
// SpecialTokens finds the tokens that a text spells as a whole, before the rest is tokenized.
//
// Owns     the tokens and a trie over their texts. Built once, then immutable.
// Thread   any.
// Errors   create: InvalidArgument for an empty text, TooLarge for a long one.
//
// At each place the longest token that may be there wins; matches do not overlap. A match of a
// "single_word" token that touches a word is passed over whole, as the library of Hugging Face
// does.
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "inference/api/types.h"

namespace quire::inference {

// Limits the work at each byte of a text.
inline constexpr std::size_t kSpecialTokenBytesMax = 1024;

struct SpecialToken {
  std::string text;  // What is looked for.
  TokenId id{};
  bool guarded = false;      // Only where the caller lets a text spell it: "<|im_end|>".
  bool single_word = false;  // Only where no letter, digit or underscore touches it.
  bool strip_left = false;   // Takes the white space before it along.
  bool strip_right = false;
  // Looked for in normalized text, as `text`, which is what the normalizer makes of `written`.
  bool normalized = false;
  std::string written = {};
};

// For each byte of a normalized text, where the characters begin and end that it comes from.
struct Origins {
  std::string_view text;  // Before it was normalized.
  std::vector<std::size_t> begins;
  std::vector<std::size_t> ends;
};

// A part of a text: plain, or one token. Byte offsets.
struct TextPiece {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::optional<TokenId> token;
};

class SpecialTokens final {
 public:
  static Result<SpecialTokens> create(std::vector<SpecialToken> tokens);

  struct CutOptions {
    bool parse_guarded = true;
    // Ascending; a guarded token that covers one of these bytes is not one.
    std::span<const std::size_t> shielded_offsets;
    // The text is a rendered chat. In normalized text, a guarded token must also stand there as it
    // is written: a normalizer can make "<" of a character that was not shielded.
    bool is_chat = false;
    // With `is_chat`, for normalized text: what `shielded_offsets` counts in.
    const Origins* origins = nullptr;
  };
  // Covers `text` in order, with no empty piece.
  std::vector<TextPiece> cut(std::string_view text, CutOptions options) const;

  bool empty() const { return tokens_.empty(); }
  std::optional<TokenId> find(std::string_view text) const;
  std::optional<TokenId> find_written(std::string_view written) const;  // In time linear in tokens.
  // All texts that guarded tokens are looked for as or written as.
  std::vector<std::string> guarded_texts() const;

 private:
  struct Match {
    std::size_t end = 0;
    const SpecialToken* token = nullptr;
  };
  using Edge = std::uint64_t;  // Node number * 256 + byte.

  std::uint32_t node_after(std::uint32_t node, char byte) const;
  bool allows(const SpecialToken& token, std::size_t begin, std::size_t end,
              const CutOptions& options) const;
  Match match_at(std::string_view text, std::size_t begin, const CutOptions& options) const;

  std::vector<SpecialToken> tokens_;
  std::unordered_map<Edge, std::uint32_t> edges_;  // Node 0 is the root.
  std::vector<std::int32_t> token_at_node_;        // -1: none ends here.
  std::array<std::uint32_t, 256> after_root_{};    // 0: no token begins so.
};

}  // namespace quire::inference
