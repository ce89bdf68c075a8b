#pragma once
// UTF-8 as Unicode defines it: no overlong forms, no surrogates, nothing above U+10FFFF.
#include <cstddef>
#include <string>
#include <string_view>

namespace quire {

// Bytes of the well-formed character at the start of `text`; 0 where there is none.
std::size_t utf8_character_bytes(std::string_view text);

// Offset of the first byte that is not part of a well-formed character; text.size() if all are.
std::size_t utf8_valid_bytes(std::string_view text);

// Writes control characters except tab, and bytes that are not UTF-8, as \xNN. So a line from a
// guest or a file can neither drive a terminal nor forge a second line.
std::string printable(std::string_view text);
// The same, but newlines stay.
std::string printable_lines(std::string_view text);

// Text from outside, fit for a message: in quotes, all but printable ASCII as \xNN, at most 80
// bytes.
std::string in_quotes(std::string_view text);

}  // namespace quire
