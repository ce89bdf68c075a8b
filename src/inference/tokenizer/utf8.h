#pragma once
// UTF-8 one character at a time, and errors that say where a text stops being it.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace quire::inference {

struct Character {
  char32_t code = 0;
  std::uint32_t bytes = 0;  // 0: what begins here is not UTF-8.
};

// The character at `at`, which must lie inside `text`.
Character character_at(std::string_view text, std::size_t at);

// InvalidArgument with the byte where `text` stops being UTF-8; `what` names the text.
Result<void> require_utf8(std::string_view text, std::string_view what);

// Whether `code` is part of a word, as "\w" has it. A build without engines/ takes everything
// beyond ASCII for one.
bool is_word_character(char32_t code);

void append_utf8(std::string& text, char32_t code);

}  // namespace quire::inference
