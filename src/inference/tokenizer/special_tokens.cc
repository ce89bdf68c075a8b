#include "inference/tokenizer/special_tokens.h"

#include <algorithm>

#include "inference/tokenizer/utf8.h"

namespace quire::inference {
namespace {

// White space as Unicode has it: what "\s" means where tokens strip it.
bool is_space(char32_t code) {
  return (code >= 9 && code <= 13) || code == 0x20 || code == 0x85 || code == 0xa0 ||
         code == 0x1680 || (code >= 0x2000 && code <= 0x200a) || code == 0x2028 || code == 0x2029 ||
         code == 0x202f || code == 0x205f || code == 0x3000;
}

bool touches_word(std::string_view text, std::size_t begin, std::size_t end) {
  if (end < text.size() && is_word_character(character_at(text, end).code)) return true;
  if (begin == 0) return false;
  std::size_t before = begin - 1;
  while (before > 0 && (static_cast<unsigned char>(text[before]) & 0xc0) == 0x80) --before;
  return is_word_character(character_at(text, before).code);
}

std::size_t skip_spaces_right(std::string_view text, std::size_t at) {
  while (at < text.size()) {
    const Character character = character_at(text, at);
    if (character.bytes == 0 || !is_space(character.code)) break;
    at += character.bytes;
  }
  return at;
}

std::size_t skip_spaces_left(std::string_view text, std::size_t at, std::size_t floor) {
  while (at > floor) {
    std::size_t begin = at - 1;
    while (begin > floor && (static_cast<unsigned char>(text[begin]) & 0xc0) == 0x80) --begin;
    if (!is_space(character_at(text, begin).code)) break;
    at = begin;
  }
  return at;
}

bool covers_any(std::span<const std::size_t> offsets, std::size_t begin, std::size_t end) {
  const auto first = std::lower_bound(offsets.begin(), offsets.end(), begin);
  return first != offsets.end() && *first < end;
}

}  // namespace

Result<SpecialTokens> SpecialTokens::create(std::vector<SpecialToken> tokens) {
  SpecialTokens made;
  made.tokens_ = std::move(tokens);
  made.token_at_node_.push_back(-1);
  for (std::size_t index = 0; index < made.tokens_.size(); ++index) {
    const SpecialToken& token = made.tokens_[index];
    const std::string which =
        "special token " + std::to_string(static_cast<std::uint32_t>(token.id));
    if (token.text.empty()) return Error(ErrorCode::InvalidArgument, which + " has no text");
    if (token.text.size() > kSpecialTokenBytesMax) {
      return Error(ErrorCode::TooLarge, which + " has a text of " +
                                            std::to_string(token.text.size()) + " bytes (" +
                                            std::to_string(kSpecialTokenBytesMax) + " at most)");
    }
    TRY(require_utf8(token.text, which));
    std::uint32_t node = 0;
    for (const char byte : token.text) {
      const Edge edge = Edge{node} << 8 | static_cast<unsigned char>(byte);
      const auto next = static_cast<std::uint32_t>(made.token_at_node_.size());
      const auto [at, added] = made.edges_.try_emplace(edge, next);
      if (added) made.token_at_node_.push_back(-1);
      node = at->second;
    }
    if (made.token_at_node_[node] < 0) {
      made.token_at_node_[node] = static_cast<std::int32_t>(index);
    }
  }
  for (std::size_t byte = 0; byte < 256; ++byte) {
    const auto at = made.edges_.find(byte);
    if (at != made.edges_.end()) made.after_root_[byte] = at->second;
  }
  return made;
}

std::uint32_t SpecialTokens::node_after(std::uint32_t node, char byte) const {
  const auto at = edges_.find(Edge{node} << 8 | static_cast<unsigned char>(byte));
  return at == edges_.end() ? 0 : at->second;
}

bool SpecialTokens::allows(const SpecialToken& token, std::size_t begin, std::size_t end,
                           const CutOptions& options) const {
  if (!token.guarded) return true;
  if (!options.parse_guarded) return false;
  if (options.origins == nullptr) return !covers_any(options.shielded_offsets, begin, end);
  const Origins& origins = *options.origins;
  const std::size_t from = *std::min_element(&origins.begins[begin], &origins.begins[end - 1] + 1);
  const std::size_t to = *std::max_element(&origins.ends[begin], &origins.ends[end - 1] + 1);
  const std::string_view original = origins.text.substr(from, to - from);
  return original.find(token.written) != std::string_view::npos &&
         !covers_any(options.shielded_offsets, from, to);
}

SpecialTokens::Match SpecialTokens::match_at(std::string_view text, std::size_t begin,
                                             const CutOptions& options) const {
  Match best;
  std::uint32_t node = after_root_[static_cast<unsigned char>(text[begin])];
  for (std::size_t end = begin + 1; node != 0; ++end) {
    if (token_at_node_[node] >= 0) {
      const SpecialToken& token = tokens_[static_cast<std::size_t>(token_at_node_[node])];
      if (allows(token, begin, end, options)) best = {end, &token};
    }
    if (end == text.size()) break;
    node = node_after(node, text[end]);
  }
  return best;
}

std::vector<TextPiece> SpecialTokens::cut(std::string_view text, CutOptions options) const {
  std::vector<TextPiece> pieces;
  std::size_t plain_begin = 0;
  std::size_t spaces_end = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Match match = match_at(text, at, options);
    if (match.token == nullptr) {
      ++at;
      continue;
    }
    const std::size_t match_begin = at;
    at = match.end;  // The search goes on there, even inside white space that is taken along.
    if (match.token->single_word && touches_word(text, match_begin, match.end)) continue;
    std::size_t begin = match_begin;
    std::size_t end = match.end;
    if (match.token->strip_right) {
      // Inside white space that a token before took along, its end is known.
      if (end >= spaces_end) spaces_end = skip_spaces_right(text, end);
      end = spaces_end;
    }
    if (match.token->strip_left) {
      begin = skip_spaces_left(text, begin, std::min(begin, plain_begin));
      begin = std::max(begin, plain_begin);
      if (begin >= end) continue;  // The token before took all of it along.
    }
    if (plain_begin < begin) {
      pieces.push_back({plain_begin, begin, std::nullopt});
    } else if (plain_begin > begin) {
      pieces.back().end = begin;  // The token before took these spaces along.
    }
    pieces.push_back({begin, end, match.token->id});
    plain_begin = end;
  }
  if (plain_begin < text.size()) pieces.push_back({plain_begin, text.size(), std::nullopt});
  return pieces;
}

std::optional<TokenId> SpecialTokens::find(std::string_view text) const {
  std::uint32_t node = 0;
  for (const char byte : text) {
    node = node_after(node, byte);
    if (node == 0) return std::nullopt;
  }
  if (token_at_node_[node] < 0) return std::nullopt;
  return tokens_[static_cast<std::size_t>(token_at_node_[node])].id;
}

std::optional<TokenId> SpecialTokens::find_written(std::string_view written) const {
  for (const SpecialToken& token : tokens_) {
    if (token.written == written) return token.id;
  }
  return std::nullopt;
}

std::vector<std::string> SpecialTokens::guarded_texts() const {
  std::vector<std::string> texts;
  for (const SpecialToken& token : tokens_) {
    if (!token.guarded) continue;
    texts.push_back(token.text);
    if (!token.written.empty() && token.written != token.text) texts.push_back(token.written);
  }
  return texts;
}

}  // namespace quire::inference
