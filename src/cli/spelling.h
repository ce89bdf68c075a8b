#pragma once
// These functions find what a user may have meant by a word that does not exist.
//
// Thread   any; plain functions.
#include <string>
#include <string_view>
#include <vector>

namespace quire::cli {

// How many letters must be inserted, left out, replaced or swapped with their neighbor to turn one
// word into the other.
std::size_t edit_distance(std::string_view one, std::string_view other);

// The words at the least distance from `word`, if a slip of the keyboard explains it.
std::vector<std::string> misspelt(std::string_view word, const std::vector<std::string>& words);

// The words that are one slip away; else those that begin with `word`; else the misspelt ones. At
// most three.
std::vector<std::string> nearest(std::string_view word, const std::vector<std::string>& words);

// "; did you mean A, B or C?", or nothing if no word is near.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& words);

// "A, B or C".
std::string listed(const std::vector<std::string>& words);

}  // namespace quire::cli
