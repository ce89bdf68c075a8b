#include "base/utf8.h"

#include <cstdint>
#include <cstring>

namespace quire {

std::size_t utf8_character_bytes(std::string_view text) {
  if (text.empty()) return 0;
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = at(0);
  if (lead < 0x80) return 1;
  const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return 0;
  // Only the range of the second byte depends on the lead.
  const unsigned char low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  const unsigned char high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  if (at(1) < low || at(1) > high) return 0;
  for (std::size_t i = 2; i < bytes; ++i) {
    if ((at(i) & 0xc0) != 0x80) return 0;
  }
  return bytes;
}

std::size_t utf8_valid_bytes(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    std::uint64_t word = 0;  // Eight ASCII bytes at a time, which is most text.
    if (at + sizeof word <= text.size()) {
      std::memcpy(&word, text.data() + at, sizeof word);
      if ((word & 0x8080808080808080u) == 0) {
        at += sizeof word;
        continue;
      }
    }
    const std::size_t bytes = utf8_character_bytes(text.substr(at));
    if (bytes == 0) return at;
    at += bytes;
  }
  return at;
}

namespace {

std::string spell_controls(std::string_view text, bool keep_newlines) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    std::size_t bytes = utf8_character_bytes(text);
    const auto lead = static_cast<unsigned char>(text[0]);
    const bool kept = lead == '\t' || (keep_newlines && lead == '\n');
    // C1 controls are two bytes of UTF-8: 0xc2 0x80 to 0xc2 0x9f.
    const bool control = (lead < 0x20 && !kept) || lead == 0x7f ||
                         (bytes == 2 && lead == 0xc2 && static_cast<unsigned char>(text[1]) < 0xa0);
    if (bytes == 0 || control) {
      out += "\\x";
      out += kDigits[lead >> 4];
      out += kDigits[lead & 15];
      bytes = 1;
    } else {
      out += text.substr(0, bytes);
    }
    text.remove_prefix(bytes);
  }
  return out;
}

}  // namespace

std::string printable(std::string_view text) {
  return spell_controls(text, false);
}
std::string printable_lines(std::string_view text) {
  return spell_controls(text, true);
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kShownMax = 80;
  constexpr char kDigits[] = "0123456789abcdef";
  std::string shown = "\"";
  for (const char each : text.substr(0, kShownMax)) {
    const auto byte = static_cast<unsigned char>(each);
    if (byte >= 0x20 && byte < 0x7f && each != '"' && each != '\\') {
      shown += each;
    } else {
      shown += "\\x";
      shown += kDigits[byte >> 4];
      shown += kDigits[byte & 15];
    }
  }
  return shown + (text.size() > kShownMax ? "...\"" : "\"");
}

}  // namespace quire
