#pragma once
// LineRepair: finds the lines of a text in which only numbers change from turn to turn, such as the
// time, and takes them out. What is left stays the same from turn to turn, and the cache finds it.
//
// Two lines have one shape if they differ only in their digits. A shape changes if it occurs once in a
// text, and once with other digits in the text of the turn before. From then on its lines are moved.
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

inline bool has_digit(const std::string& text) {
  return text.find_first_of("0123456789") != std::string::npos;
}

// The text without what its numbers are.
inline std::uint64_t shape_of(std::string text) {
  for (char& each : text) each = '0' <= each && each <= '9' ? '0' : each;
  return hash_of(text);
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
      if (has_digit(line)) lines[shape_of(line)].push_back(hash_of(line));
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
  // Takes the lines out of `text` whose numbers change, and returns them.
  std::string take(std::string& text) const {
    std::string kept, taken;
    for (const std::string& line : lines_of(text)) {
      const bool changes = has_digit(line) && changing_.contains(shape_of(line));
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
