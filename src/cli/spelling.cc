#include "cli/spelling.h"

#include <algorithm>
#include <utility>

namespace quire::cli {
namespace {

constexpr std::size_t kNearestCountMax = 3;

// How far apart a word and its misspelling may be: a short word has few letters to recognize it by.
std::size_t distance_max(std::string_view word) {
  const std::size_t letters = static_cast<std::size_t>(
      std::count_if(word.begin(), word.end(), [](char c) { return c != '-' && c != '_'; }));
  if (letters <= 4) return 1;
  return letters <= 8 ? 2 : 3;
}

}  // namespace

std::size_t edit_distance(std::string_view one, std::string_view other) {
  // Rows of the table of distances between prefixes: the one before the last is for swaps.
  std::vector<std::size_t> before;
  std::vector<std::size_t> above(other.size() + 1);
  for (std::size_t j = 0; j <= other.size(); ++j) above[j] = j;
  for (std::size_t i = 1; i <= one.size(); ++i) {
    std::vector<std::size_t> row(other.size() + 1);
    row[0] = i;
    for (std::size_t j = 1; j <= other.size(); ++j) {
      const std::size_t replaced = above[j - 1] + (one[i - 1] == other[j - 1] ? 0 : 1);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, replaced});
      const bool is_swap =
          i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1];
      if (is_swap) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before = std::exchange(above, std::move(row));
  }
  return above[other.size()];
}

std::vector<std::string> misspelt(std::string_view word, const std::vector<std::string>& words) {
  std::size_t least = distance_max(word);
  std::vector<std::string> found;
  for (const std::string& each : words) {
    const std::size_t distance = edit_distance(word, each);
    if (distance > least) continue;
    if (distance < least) found.clear();
    least = distance;
    found.push_back(each);
  }
  return found;
}

std::vector<std::string> nearest(std::string_view word, const std::vector<std::string>& words) {
  std::vector<std::string> found = misspelt(word, words);
  const bool is_slip = !found.empty() && edit_distance(word, found.front()) <= 1;
  std::vector<std::string> longer;
  for (const std::string& each : words) {
    if (!word.empty() && each.starts_with(word)) longer.push_back(each);
  }
  // The beginning of a word is more like it than a word with two other letters is.
  if (!is_slip && !longer.empty()) found = std::move(longer);
  if (found.size() > kNearestCountMax) found.resize(kNearestCountMax);
  return found;
}

std::string listed(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
    text += words[i];
  }
  return text;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& words) {
  const std::vector<std::string> near = nearest(word, words);
  return near.empty() ? "" : "; did you mean " + listed(near) + "?";
}

}  // namespace quire::cli
