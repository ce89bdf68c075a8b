#include "inference/tokenizer/utf8.h"

#include "base/utf8.h"

#ifdef QUIRE_ENGINES
#include <quire_engines.h>
#endif

namespace quire::inference {

Character character_at(std::string_view text, std::size_t at) {
  const std::size_t bytes = utf8_character_bytes(text.substr(at));
  if (bytes == 0) return {};
  const auto byte = [&](std::size_t index) { return static_cast<std::uint8_t>(text[at + index]); };
  char32_t code = bytes == 1 ? byte(0) : byte(0) & (0x7fu >> bytes);
  for (std::size_t index = 1; index < bytes; ++index) code = code << 6 | (byte(index) & 0x3f);
  return {code, static_cast<std::uint32_t>(bytes)};
}

Result<void> require_utf8(std::string_view text, std::string_view what) {
  const std::size_t valid = utf8_valid_bytes(text);
  if (valid == text.size()) return {};
  return Error(ErrorCode::InvalidArgument, std::string(what) + " is not UTF-8 at byte " +
                                               std::to_string(valid) + " of " +
                                               std::to_string(text.size()));
}

bool is_word_character(char32_t code) {
  if (code < 0x80) {
    return code == '_' || (code >= '0' && code <= '9') || (code >= 'A' && code <= 'Z') ||
           (code >= 'a' && code <= 'z');
  }
#ifdef QUIRE_ENGINES
  return quire_is_word_character(static_cast<std::uint32_t>(code));
#else
  return true;
#endif
}

void append_utf8(std::string& text, char32_t code) {
  const auto put = [&](char32_t bits) { text.push_back(static_cast<char>(bits)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xc0 | code >> 6);
    put(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    put(0xe0 | code >> 12);
    put(0x80 | (code >> 6 & 0x3f));
    put(0x80 | (code & 0x3f));
  } else {
    put(0xf0 | code >> 18);
    put(0x80 | (code >> 12 & 0x3f));
    put(0x80 | (code >> 6 & 0x3f));
    put(0x80 | (code & 0x3f));
  }
}

}  // namespace quire::inference
