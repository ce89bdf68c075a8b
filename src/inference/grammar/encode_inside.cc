#include "inference/grammar/encode_inside.h"

#include <algorithm>
#include <string>

namespace quire::inference {
namespace {

constexpr EncodeOptions kPlain{.parse_special = false, .add_bos = false};

bool spells(const TextCodec& codec, const std::vector<TokenId>& tokens, std::string_view text) {
  const auto decoded = codec.decode(tokens, true);
  return decoded.ok() && decoded.value() == text;
}

}  // namespace

std::vector<TokenId> encode_inside(const TextCodec& codec, std::string_view text) {
  auto whole = codec.encode(text, kPlain);
  if (!whole.ok()) return {};
  if (spells(codec, whole.value(), text)) return std::move(whole).take();
  // SentencePiece puts a space before a text. After a line end, which joins with nothing, it puts
  // none; so what follows the line end's tokens is the text alone.
  const auto before = codec.encode("\n", kPlain);
  const auto both = codec.encode("\n" + std::string(text), kPlain);
  if (!before.ok() || !both.ok()) return {};
  const std::vector<TokenId>& head = before.value();
  const std::vector<TokenId>& all = both.value();
  if (all.size() < head.size() || !std::equal(head.begin(), head.end(), all.begin())) return {};
  std::vector<TokenId> tokens(all.begin() + static_cast<std::ptrdiff_t>(head.size()), all.end());
  if (!spells(codec, tokens, text)) return {};
  return tokens;
}

}  // namespace quire::inference
