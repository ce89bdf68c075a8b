#pragma once
// How many columns of a terminal text takes.
//
// Thread   any; plain functions.
#include <cstdint>
#include <string_view>

namespace quire {

// The first character of `text`, which is not empty. A byte that is not UTF-8 is a character of one
// column, as terminals draw it.
struct TextCharacter {
  char32_t code = 0;
  std::uint32_t bytes = 1;
  std::uint32_t columns =
      1;  // 2: an East Asian character or an emoji; 0: a mark over the one before.
};
TextCharacter first_character(std::string_view text);

// Control characters take no column; a tab takes one.
std::uint32_t column_count(std::string_view text);

}  // namespace quire
