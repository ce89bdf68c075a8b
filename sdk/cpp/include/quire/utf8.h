#pragma once
// Utf8Stream turns bytes that arrive in any cuts into whole characters.
//
// Tokens are bytes: a character may span several of them, and a model may produce bytes that are
// not UTF-8 at all. The output is always valid UTF-8. An incomplete character is held back until
// its rest arrives. Each maximal part that cannot be a character becomes one U+FFFD, as the Unicode
// standard recommends. It knows nothing of guests and includes only the standard library.
//
// Thread   one thread at a time for each stream.
// Errors   none.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace quire {

class Utf8Stream {
 public:
  static constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

  // The characters that `bytes` complete.
  std::string push(std::string_view bytes) {
    std::string out;
    out.reserve(bytes.size());
    for (char each : bytes) push_byte(static_cast<std::uint8_t>(each), out);
    return out;
  }

  // Nothing more will come: what is still incomplete becomes one U+FFFD.
  std::string finish() {
    std::string out(held_.empty() ? std::string_view() : kReplacement);
    held_.clear();
    return out;
  }

  std::size_t held_bytes() const { return held_.size(); }

 private:
  void push_byte(std::uint8_t byte, std::string& out) {
    if (!held_.empty()) {
      if (byte >= low_ && byte <= high_) {
        held_.push_back(static_cast<char>(byte));
        low_ = 0x80;
        high_ = 0xBF;
        if (--missing_ == 0) {
          out += held_;
          held_.clear();
        }
        return;
      }
      out += kReplacement;
      held_.clear();
    }
    begin(byte, out);
  }

  // The first byte of a character; low_ and high_ bound the second (no overlong forms, surrogates
  // or numbers above U+10FFFF).
  void begin(std::uint8_t byte, std::string& out) {
    low_ = 0x80;
    high_ = 0xBF;
    if (byte < 0x80) {
      out.push_back(static_cast<char>(byte));
      return;
    }
    if (byte >= 0xC2 && byte <= 0xDF) {
      missing_ = 1;
    } else if (byte >= 0xE0 && byte <= 0xEF) {
      missing_ = 2;
      if (byte == 0xE0) low_ = 0xA0;
      if (byte == 0xED) high_ = 0x9F;
    } else if (byte >= 0xF0 && byte <= 0xF4) {
      missing_ = 3;
      if (byte == 0xF0) low_ = 0x90;
      if (byte == 0xF4) high_ = 0x8F;
    } else {
      out += kReplacement;
      return;
    }
    held_.assign(1, static_cast<char>(byte));
  }

  std::string held_;  // Of an incomplete character: at most three bytes.
  int missing_ = 0;
  std::uint8_t low_ = 0x80;
  std::uint8_t high_ = 0xBF;
};

// How many bytes at the start are whole characters of valid UTF-8.
[[gnu::noinline]] inline std::size_t valid_utf8_bytes(std::string_view bytes) {
  std::size_t at = 0;
  while (at < bytes.size()) {
    const auto lead = static_cast<std::uint8_t>(bytes[at]);
    if (lead < 0x80) {
      ++at;
      continue;
    }
    const std::size_t count = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    if (lead < 0xC2 || lead > 0xF4 || bytes.size() - at < count) break;
    const auto second = static_cast<std::uint8_t>(bytes[at + 1]);
    // The second byte: no overlong forms, surrogates or numbers above U+10FFFF.
    const std::uint8_t low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    const std::uint8_t high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    if (second < low || second > high) break;
    std::size_t more = 2;
    while (more < count && (static_cast<std::uint8_t>(bytes[at + more]) & 0xC0) == 0x80) ++more;
    if (more < count) break;
    at += count;
  }
  return at;
}

// `bytes` as valid UTF-8, what is none replaced by U+FFFD.
inline std::string valid_utf8(std::string_view bytes) {
  Utf8Stream stream;
  std::string text = stream.push(bytes);
  text += stream.finish();
  return text;
}

}  // namespace quire
