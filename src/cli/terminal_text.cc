#include "cli/terminal_text.h"

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/utf8.h"

namespace quire::cli {
namespace {

constexpr std::size_t kCharacterBytesMax = 4;

// The bytes of the character that begins with `lead`; 1 if none of several bytes does.
std::size_t bytes_announced(unsigned char lead) {
  if (lead >= 0xc2 && lead < 0xe0) return 2;
  if (lead >= 0xe0 && lead < 0xf0) return 3;
  return lead >= 0xf0 && lead < 0xf5 ? 4 : 1;
}

// How many bytes at the end of `text` are the begin of a character that is not complete.
std::size_t incomplete_bytes(std::string_view text) {
  const std::size_t most = std::min(text.size(), kCharacterBytesMax - 1);
  for (std::size_t back = 1; back <= most; ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if ((byte & 0xc0) == 0x80) continue;  // Its lead is before it.
    return bytes_announced(byte) > back ? back : 0;
  }
  return 0;
}

}  // namespace

TerminalText TerminalText::of_standard_output() {
  return TerminalText(isatty(STDOUT_FILENO) != 0);
}

std::string TerminalText::add(std::string_view bytes) {
  if (!is_terminal_) return std::string(bytes);
  held_ += bytes;
  std::string rest = held_.substr(held_.size() - incomplete_bytes(held_));
  held_.resize(held_.size() - rest.size());
  std::swap(held_, rest);
  return printable_lines(rest);
}

std::string TerminalText::finish() {
  return printable_lines(std::exchange(held_, {}));
}

}  // namespace quire::cli
