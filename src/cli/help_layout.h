#pragma once
// How help is laid out: rows of a head and its text, and the notes and examples after them. No line
// is longer than `columns`, unless one word is, and no word is broken.
//
// Thread   any; plain functions.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace quire::cli {

inline constexpr std::uint32_t kUsualColumns = 80;  // Where no terminal has another width.
// Longer lines are hard to read: the eye does not find the next one.
inline constexpr std::uint32_t kHelpColumnsMax = 100;

struct HelpRow {
  std::string head;  // "--deadline SECONDS (0 to 1000000, default 0)".
  std::string text;
};
// The texts stand in one column. It begins on the line after a head that reaches into it.
std::string help_rows(const std::vector<HelpRow>& rows, std::uint32_t columns);

// Paragraphs are filled. Below "Examples:" each line is a command, which continues after a "\".
// Other lines that begin with spaces are rows.
std::string help_notes(std::string_view notes, std::uint32_t columns);

}  // namespace quire::cli
