#pragma once
// TokenIndex finds where the last tokens of a text stood before, in that text or in another one.
//
//   TokenIndex index;
//   for (const std::uint32_t each : tokens) index.append(each);
//   const TokenIndex::Match match = index.repeated();
//   if (match.length >= 4) use(index.after(match, 8));  // What came next then.
//
// A token costs the same however long the text is: a table has the last place of each run of
// kKeyCount tokens, and each place names the one before it with the same hash. A search follows at
// most kPlaceCountMax of them, and takes the longest match, of these the last one.
//
// It remembers the last kTokenCountMax tokens, and takes 12 bytes for each: 1.5 MiB at most.
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace quire {

class TokenIndex {
 public:
  static constexpr std::uint32_t kKeyCount = 3;  // Tokens of the shortest match.
  static constexpr std::uint32_t kMatchCountMax = 32;
  static constexpr std::uint32_t kPlaceCountMax = 64;
  static constexpr std::uint32_t kTokenCountMax = 131'072;

  struct Match {
    std::uint64_t end = 0;     // The text goes on there.
    std::uint32_t length = 0;  // 0: none.
  };

  std::uint64_t token_count() const { return count_; }
  // The place is one of the last kTokenCountMax.
  std::uint32_t token(std::uint64_t place) const { return tokens_[place & mask()]; }

  void append(std::uint32_t token) {
    if (count_ == tokens_.size() && count_ < kTokenCountMax) grow();
    tokens_[count_ & mask()] = token;
    ++count_;
    link(count_ - 1);
  }

  // Finds where the last tokens of this text stood before.
  Match repeated() const {
    if (count_ < kKeyCount) return {};
    std::uint32_t last[kMatchCountMax];
    const auto length = static_cast<std::uint32_t>(
        std::min<std::uint64_t>({count_, tokens_.size(), std::uint64_t{kMatchCountMax}}));
    for (std::uint32_t i = 0; i < length; ++i) last[i] = token(count_ - length + i);
    return longest({last, length}, place_before(count_ - 1));
  }
  // Finds where the last tokens of `text`, another one, stand in this text.
  Match find(std::span<const std::uint32_t> text) const {
    if (text.size() < kKeyCount || tokens_.empty()) return {};
    const std::uint32_t* last = text.data() + text.size() - kKeyCount;
    return longest(text, heads_[slot_of(last[0], last[1], last[2])]);
  }

  // The next `count` tokens after a match. With `repeats` they go on past the end of the text, as
  // if it repeated from the match on: that is how "abcabc" goes on.
  std::vector<std::uint32_t> after(const Match& match, std::size_t count,
                                   bool repeats = false) const {
    std::vector<std::uint32_t> out;
    if (match.length == 0 || match.end >= count_) return out;
    const std::size_t period = static_cast<std::size_t>(count_ - match.end);
    if (!repeats) count = std::min(count, period);
    for (std::size_t i = 0; i < count; ++i) out.push_back(token(match.end + i % period));
    return out;
  }

 private:
  // A place is a position modulo 2^32.
  static constexpr std::uint32_t kNoPlace = 0xffffffff;
  static constexpr std::size_t kFirstCapacity = 64;

  std::uint64_t mask() const { return tokens_.size() - 1; }
  std::uint32_t slot_of(std::uint32_t a, std::uint32_t b, std::uint32_t c) const {
    std::uint64_t hash = a * std::uint64_t{0x9e37'79b9'7f4a'7c15};
    hash = (hash ^ b) * std::uint64_t{0xbf58'476d'1ce4'e5b9};
    hash = (hash ^ hash >> 29 ^ c) * std::uint64_t{0x94d0'49bb'1331'11eb};
    return static_cast<std::uint32_t>(hash >> 33 & mask());
  }
  void link(std::uint64_t place) {
    if (place + 1 < kKeyCount) return;
    std::uint32_t& head = heads_[slot_of(token(place - 2), token(place - 1), token(place))];
    before_[place & mask()] = head;
    head = static_cast<std::uint32_t>(place);
  }
  void grow() {
    const std::size_t capacity = std::max(kFirstCapacity, tokens_.size() * 2);
    tokens_.resize(capacity);
    before_.assign(capacity, kNoPlace);
    heads_.assign(capacity, kNoPlace);
    for (std::uint64_t place = 0; place < count_; ++place) link(place);
  }
  std::uint32_t place_before(std::uint64_t place) const { return before_[place & mask()]; }

  // Follows the places from `place` on, each of which is earlier than the one before it.
  Match longest(std::span<const std::uint32_t> text, std::uint32_t place) const {
    Match best;
    std::uint64_t later = count_;
    for (std::uint32_t i = 0; i < kPlaceCountMax && place != kNoPlace; ++i) {
      const std::uint64_t distance = static_cast<std::uint32_t>(count_ - place);
      const std::uint64_t position = count_ - distance;
      if (distance > count_ || distance > tokens_.size() || position >= later) break;
      later = position;
      const std::uint32_t length = length_at(text, position);
      if (length > best.length) best = {position + 1, length};
      place = place_before(position);
    }
    return best.length < kKeyCount ? Match{} : best;
  }
  // How many of the last tokens of `text` stand at `position` and before it.
  std::uint32_t length_at(std::span<const std::uint32_t> text, std::uint64_t position) const {
    const std::uint64_t kept = std::min<std::uint64_t>(count_, tokens_.size());
    const std::uint64_t length_max = std::min<std::uint64_t>(
        {text.size(), std::uint64_t{kMatchCountMax}, kept - (count_ - 1 - position)});
    std::uint32_t length = 0;
    while (length < length_max && token(position - length) == text[text.size() - 1 - length]) {
      ++length;
    }
    return length;
  }

  std::uint64_t count_ = 0;
  std::vector<std::uint32_t> tokens_;  // By position modulo their number, a power of two.
  std::vector<std::uint32_t> before_;  // The place before each with the same hash,
  std::vector<std::uint32_t> heads_;   // and the last place of each hash.
};

}  // namespace quire
