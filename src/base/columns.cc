#include "base/columns.h"

#include <algorithm>
#include <iterator>

#include "base/utf8.h"

namespace quire {
namespace {

struct CharacterRange {
  std::uint32_t first;
  std::uint32_t last;
};

#include "base/character_widths.inc"

template <std::size_t kCount>
bool is_in(const CharacterRange (&ranges)[kCount], std::uint32_t code) {
  const auto* const after = std::upper_bound(
      std::begin(ranges), std::end(ranges), code,
      [](std::uint32_t value, const CharacterRange& range) { return value < range.first; });
  return after != std::begin(ranges) && code <= std::prev(after)->last;
}

std::uint32_t columns_of(std::uint32_t code) {
  const bool is_control = code < 0x20 || (code >= 0x7f && code < 0xa0);
  if (is_control) return code == '\t' ? 1 : 0;
  if (code < 0x80) return 1;
  if (is_in(kWithoutWidth, code)) return 0;
  return is_in(kWide, code) ? 2 : 1;
}

}  // namespace

TextCharacter first_character(std::string_view text) {
  const std::size_t bytes = utf8_character_bytes(text);
  if (bytes == 0) return {.code = 0xfffd};
  constexpr unsigned char kLeadBits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
  std::uint32_t code = static_cast<unsigned char>(text[0]) & kLeadBits[bytes];
  for (std::size_t at = 1; at < bytes; ++at) {
    code = code << 6 | (static_cast<unsigned char>(text[at]) & 0x3f);
  }
  return {code, static_cast<std::uint32_t>(bytes), columns_of(code)};
}

std::uint32_t column_count(std::string_view text) {
  std::uint32_t count = 0;
  while (!text.empty()) {
    const TextCharacter first = first_character(text);
    count += first.columns;
    text.remove_prefix(first.bytes);
  }
  return count;
}

}  // namespace quire
