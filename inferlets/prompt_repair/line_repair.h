#pragma once
// LineRepair: finds the lines of a text in which only a number, a time, an id or a path changes from turn
// to turn, and takes them out. What is left stays the same from turn to turn, and the cache finds it.
//
// Two lines have one shape if they differ only in parts that may change. These are, each of any length:
//   numbers            "7", "1,024", "2.1.37", "0x7f"
//   hexadecimal words  with a digit, or of five letters or more: "fa690", "deadbeef", each part of a UUID
//   mixed words        of six letters and digits or more that change between both three times: "tmp8k2jx9"
//   time words         names of months and weekdays, "AM" and "PM", in a line with a digit
//   paths              words with a "/" at their beginning, after "~", after a drive, or twice within
//
// A shape changes if it occurs once in a text, and once with other parts in the text of the turn before.
// From then on its lines are moved.
//
// What it has learned can be kept: bytes() and LineRepair(bytes). At most kLineCountMax lines are
// remembered.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace repair {

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0, end = 0; at < text.size(); at = end) {
    end = std::min(text.find('\n', at), text.size() - 1) + 1;
    lines.push_back(text.substr(at, end - at));
  }
  return lines;
}

// FNV-1a.
inline std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf2'9ce4'8422'2325u;
  for (const char each : text) hash = (hash ^ static_cast<unsigned char>(each)) * 0x100'0000'01b3u;
  return hash;
}

// ---- the parts of a line that may change ----------------------------------------------------------

inline constexpr char kPart = '\x01';  // Stands for one in a shape.

inline bool is_digit(char each) {
  return each >= '0' && each <= '9';
}
inline bool is_letter(char each) {
  return (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z');
}
inline bool is_hex(char each) {
  return is_digit(each) || (each >= 'a' && each <= 'f') || (each >= 'A' && each <= 'F');
}
inline bool has_digit(std::string_view text) {
  return std::ranges::any_of(text, is_digit);
}

// A word is letters and digits alone.
inline bool is_hex_word(std::string_view word) {
  constexpr std::size_t kLettersMin = 5;  // Below this, most such words are words of a language.
  if (word.starts_with("0x") || word.starts_with("0X")) word.remove_prefix(2);
  return std::ranges::all_of(word, is_hex) && (has_digit(word) || word.size() >= kLettersMin);
}
inline bool is_mixed_word(std::string_view word) {
  constexpr std::size_t kBytesMin = 6;
  constexpr std::size_t kChangesMin = 3;
  std::size_t changes = 0;
  for (std::size_t i = 1; i < word.size(); ++i)
    changes += is_digit(word[i]) != is_digit(word[i - 1]);
  return word.size() >= kBytesMin && changes >= kChangesMin;
}
inline bool is_time_word(std::string_view word) {
  constexpr std::string_view kWords[] = {
      "January", "February",  "March",    "April",    "May",      "June",   "July",
      "August",  "September", "October",  "November", "December", "Sept",   "Monday",
      "Tuesday", "Wednesday", "Thursday", "Friday",   "Saturday", "Sunday", "Tues",
      "Thur",    "Thurs",     "AM",       "PM",       "am",       "pm"};
  constexpr std::size_t kShortBytes = 3;  // "Nov", "Wed".
  return std::ranges::any_of(kWords, [&](std::string_view each) {
    return word == each ||
           (word.size() == kShortBytes && each.size() > 2 && word == each.substr(0, kShortBytes));
  });
}

// Letters and digits; all bytes of characters beyond ASCII are letters of a word that does not change.
inline std::size_t word_end(std::string_view text, std::size_t at) {
  while (at < text.size() && (is_letter(text[at]) || is_digit(text[at]))) ++at;
  return at;
}

// The end of a path that begins at `at`; `at` if there is none.
inline std::size_t path_end(std::string_view text, std::size_t at) {
  constexpr std::string_view kEnds = " \t\r\n\"'`<>()[]{},;|=";
  if (at > 0 && kEnds.find(text[at - 1]) == std::string_view::npos) return at;
  const std::size_t end = std::min(text.find_first_of(kEnds, at), text.size());
  const std::string_view word = text.substr(at, end - at);
  if (word.find("://") != std::string_view::npos || word.starts_with("//")) return at;
  const bool is_rooted = word.size() > 1 && (word[0] == '/' || word.starts_with("~/"));
  const bool has_drive = word.size() > 3 && is_letter(word[0]) && word[1] == ':' &&
                         (word[2] == '\\' || word[2] == '/');
  const bool is_deep = std::ranges::count(word, '/') >= 2;
  return is_rooted || has_drive || is_deep ? end : at;
}

// A line in which kPart stands for each part that may change.
inline std::string shape_of_line(std::string_view line) {
  const bool may_have_time = has_digit(line);
  std::string shape;
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t path = path_end(line, at);
    const std::size_t end = path > at ? path : word_end(line, at);
    if (end == at) {
      shape += line[at++];
      continue;
    }
    const std::string_view word = line.substr(at, end - at);
    const bool may_change = path > at || is_hex_word(word) || is_mixed_word(word) ||
                            (may_have_time && is_time_word(word));
    at = end;
    if (may_change) {
      // "2.1.37" and "1,024" are one number.
      const std::size_t count = shape.size();
      const bool goes_on = count >= 2 && shape[count - 2] == kPart &&
                           (shape[count - 1] == '.' || shape[count - 1] == ',');
      if (goes_on) shape.pop_back();
      if (!goes_on) shape += kPart;
      continue;
    }
    // "v2" and "v10".
    for (const char each : word) {
      if (!is_digit(each)) {
        shape += each;
      } else if (shape.empty() || shape.back() != kPart) {
        shape += kPart;
      }
    }
  }
  return shape;
}
inline bool may_change(std::string_view line) {
  return shape_of_line(line).find(kPart) != std::string::npos;
}

// A hash of the text without the parts that may change.
inline std::uint64_t shape_of(const std::string& text) {
  std::string shapes;
  for (const std::string& line : lines_of(text)) shapes += shape_of_line(line);
  return hash_of(shapes);
}

class LineRepair {
 public:
  static constexpr std::size_t kLineCountMax = 1024;

  LineRepair() = default;
  // Bytes that are none of bytes() give what has learned nothing.
  explicit LineRepair(std::string_view bytes) {
    std::vector<std::uint64_t> words(bytes.size() / sizeof(std::uint64_t));
    if (words.empty()) return;
    std::memcpy(words.data(), bytes.data(), words.size() * sizeof(std::uint64_t));
    const std::size_t before = 1 + words[0];
    if (words[0] >= words.size() || (words.size() - before) % 2 != 0) return;
    changing_.insert(words.begin() + 1, words.begin() + static_cast<std::ptrdiff_t>(before));
    for (std::size_t i = before; i < words.size(); i += 2) before_.emplace(words[i], words[i + 1]);
  }
  std::string bytes() const {
    std::vector<std::uint64_t> words(1, changing_.size());
    words.insert(words.end(), changing_.begin(), changing_.end());
    for (const auto& [shape, line] : before_) words.insert(words.end(), {shape, line});
    std::string bytes(words.size() * sizeof(std::uint64_t), '\0');
    std::memcpy(bytes.data(), words.data(), bytes.size());
    return bytes;
  }

  // Compares the text with that of the turn before, whose place it takes.
  void see(const std::string& text) {
    std::map<std::uint64_t, std::vector<std::uint64_t>> lines;  // By shape.
    for (const std::string& line : lines_of(text)) {
      if (may_change(line)) lines[shape_of(line)].push_back(hash_of(line));
    }
    std::map<std::uint64_t, std::uint64_t> now;
    for (const auto& [shape, all] : lines) {
      if (all.size() != 1 || changing_.contains(shape)) continue;
      const auto before = before_.find(shape);
      const bool changes = before != before_.end() && before->second != all.front();
      if (changing_.size() + now.size() == kLineCountMax) break;
      changes ? (void)changing_.insert(shape) : (void)now.emplace(shape, all.front());
    }
    before_ = std::move(now);
  }
  // Takes the lines out of `text` of which a part changes, and returns them.
  std::string take(std::string& text) const {
    std::string kept, taken;
    for (const std::string& line : lines_of(text)) {
      const bool changes = may_change(line) && changing_.contains(shape_of(line));
      (changes ? taken : kept) += line;
    }
    text = std::move(kept);
    return taken;
  }

 private:
  std::map<std::uint64_t, std::uint64_t>
      before_;  // Of each shape, the only line of the turn before.
  std::set<std::uint64_t> changing_;
};

}  // namespace repair
