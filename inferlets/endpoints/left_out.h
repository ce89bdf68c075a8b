#pragma once
// LeftOut: what a request asks for and the server leaves out. The client reads it in a header of the
// response, so that nothing is left out silently.
//
// An endpoint refuses what would make its answer wrong for the client: a form that the client parses, a
// limit that it relies on, a text that the model would not read. It leaves out what is a hint or a
// service of another server, and what it does not know. A name that is close to a known one is a
// misspelling, and is refused.
#include <algorithm>
#include <cctype>
#include <cstddef>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quire/serve.h"

namespace endpoints {

class LeftOut {
 public:
  static constexpr const char* kHeader = "x-quire-ignored";
  static constexpr std::size_t kBytesMax = 1024;

  // `place` is the path of a member, such as "messages[2].zzz". Of places that differ in their numbers
  // alone, the first one is named.
  void add(std::string_view place) {
    std::string shown;
    for (const char each : place) {
      const bool is_plain = each > ' ' && each < '\x7f' && each != ',';
      shown += is_plain || each == ' ' ? each : '?';
    }
    std::string kind = without_numbers(shown);
    if (is_full_ || std::ranges::find(known_, kind) != known_.end()) return;
    known_.push_back(std::move(kind));
    const std::size_t more = shown.size() + (text_.empty() ? 0 : kSeparator.size());
    is_full_ = text_.size() + more + kSeparator.size() + kMore.size() > kBytesMax;
    text_ += text_.empty() ? "" : kSeparator;
    text_ += is_full_ ? kMore : std::string_view(shown);
  }
  // The response that begins later names all that was left out.
  void tell(const quire::serve::Response& response) const {
    if (!text_.empty()) response.add_header({kHeader, text_});
  }
  const std::string& text() const { return text_; }

 private:
  static constexpr std::string_view kSeparator = ", ";
  static constexpr std::string_view kMore = "...";

  static std::string without_numbers(const std::string& place) {
    std::string out;
    bool is_index = false;
    for (const char each : place) {
      if (each == ']') is_index = false;
      if (!is_index) out += each;
      if (each == '[') is_index = true;
    }
    return out;
  }

  std::string text_;
  std::vector<std::string> known_;  // Without their numbers.
  bool is_full_ = false;
};

// ---- misspellings -------------------------------------------------------------------------------

// How many letters differ, at most: to insert, to leave out, or to replace. Cases, "_" and "-" do not count.
inline std::size_t letters_between(std::string_view left, std::string_view right) {
  const auto folded = [](std::string_view text) {
    std::string out;
    for (const char each : text) {
      if (each == '_' || each == '-') continue;
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(each)));
    }
    return out;
  };
  const std::string a = folded(left);
  const std::string b = folded(right);
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

// The name that `name` may be a misspelling of; empty: none. A name of three letters with two other
// letters is another name.
inline std::string_view meant_by(std::string_view name, std::span<const std::string> known) {
  constexpr std::size_t kNameBytesMax = 64;  // No member has a longer name.
  if (name.size() > kNameBytesMax) return {};
  std::string_view best;
  std::size_t least = 3;
  for (const std::string& each : known) {
    const std::size_t letters = letters_between(name, each);
    if (letters >= least || 2 * letters > std::max(name.size(), each.size())) continue;
    least = letters;
    best = each;
  }
  return best;
}

}  // namespace endpoints
