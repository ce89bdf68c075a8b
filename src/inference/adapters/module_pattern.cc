// Parsing makes the steps of a nondeterministic automaton (Thompson); matching follows all of its
// states at once.
#include "inference/adapters/module_pattern.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/utf8.h"

namespace quire::inference {
namespace {

constexpr std::string_view kSpecial = "\\[](){}*+?|^$";
constexpr std::uint32_t kRepeatMax = 1000;
constexpr std::uint32_t kRepeatForever = 0xffffffffu;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_word(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r') || (c >= '\x1c' && c <= '\x1f');
}

struct Repeat {
  std::uint32_t least = 1;
  std::uint32_t most = 1;
};

}  // namespace

// A fragment begins at a step and ends in steps whose `next` (or `other`) is still open.
class PatternParser {
 public:
  PatternParser(std::string_view text, const std::string& where) : text_(text), where_(where) {}

  Result<ModulePattern> parse() {
    if (text_.size() > kPatternBytesMax) {
      return refuse(ErrorCode::TooLarge, std::to_string(text_.size()) + " characters; at most " +
                                             std::to_string(kPatternBytesMax) + " are read");
    }
    for (const char c : text_) {
      if (static_cast<unsigned char>(c) >= 128) {
        return refuse(ErrorCode::NotSupported, "a character outside of ASCII");
      }
    }
    if (text_.find_first_of(kSpecial) == std::string_view::npos) {
      pattern_.is_plain_ = true;
      pattern_.text_ = text_;
      return std::move(pattern_);
    }
    const Fragment whole = TRY(alternatives(0));
    if (at_ < text_.size()) return refuse(ErrorCode::Corrupted, "a ) without its (");
    const std::uint32_t match = TRY(add({.kind = Kind::Match}));
    connect(whole.open, match);
    pattern_.begin_ = whole.begin;
    return std::move(pattern_);
  }

 private:
  using Kind = ModulePattern::Kind;
  using Step = ModulePattern::Step;
  using Characters = ModulePattern::Characters;
  struct Open {
    std::uint32_t step;
    bool is_other;
  };
  struct Fragment {
    std::uint32_t begin = 0;
    std::vector<Open> open;
  };

  Error refuse(ErrorCode code, const std::string& what) const {
    return Error(code, where_ + ": the expression " + in_quotes(text_) + " has " + what +
                           " (character " + std::to_string(at_) + ")");
  }

  bool is_next(char c) const { return at_ < text_.size() && text_[at_] == c; }
  bool take(char c) {
    if (!is_next(c)) return false;
    ++at_;
    return true;
  }

  Result<std::uint32_t> add(Step step) {
    if (pattern_.steps_.size() >= kPatternStepsMax) {
      return refuse(ErrorCode::TooLarge,
                    "more than " + std::to_string(kPatternStepsMax) + " steps when compiled");
    }
    pattern_.steps_.push_back(step);
    return static_cast<std::uint32_t>(pattern_.steps_.size() - 1);
  }
  void connect(const std::vector<Open>& open, std::uint32_t to) {
    for (const Open& each : open) {
      Step& step = pattern_.steps_[each.step];
      (each.is_other ? step.other : step.next) = to;
    }
  }
  static void append(std::vector<Open>& to, std::vector<Open> more) {
    to.insert(to.end(), more.begin(), more.end());
  }

  Result<Fragment> alternatives(std::uint32_t depth) {
    Fragment all = TRY(sequence(depth));
    while (take('|')) {
      Fragment next = TRY(sequence(depth));
      const std::uint32_t fork =
          TRY(add({.kind = Kind::Fork, .next = all.begin, .other = next.begin}));
      all.begin = fork;
      append(all.open, std::move(next.open));
    }
    return all;
  }

  // An empty sequence is a fork whose both ways lead on.
  Result<Fragment> nothing() {
    const std::uint32_t fork = TRY(add({.kind = Kind::Fork}));
    return Fragment{fork, {{fork, false}, {fork, true}}};
  }

  Result<Fragment> sequence(std::uint32_t depth) {
    std::optional<Fragment> all;
    while (at_ < text_.size() && !is_next('|') && !is_next(')')) {
      Fragment next = TRY(repeated(depth));
      if (all) {
        connect(all->open, next.begin);
        all->open = std::move(next.open);
      } else {
        all = std::move(next);
      }
    }
    if (all) return *std::move(all);
    return nothing();
  }

  // Parses the atom once for each copy that the repeat needs.
  Result<Fragment> repeated(std::uint32_t depth) {
    const std::size_t atom_at = at_;
    Fragment first = TRY(atom(depth));
    const std::optional<Repeat> repeat = TRY(quantifier());
    if (!repeat) return first;
    const std::size_t end = at_;
    std::uint32_t used = 0;
    const auto copy = [&]() -> Result<Fragment> {
      if (used++ == 0) return std::move(first);
      at_ = atom_at;
      return atom(depth);
    };
    Fragment all = TRY(nothing());
    const auto follow = [&](Fragment next) {
      connect(all.open, next.begin);
      all.open = std::move(next.open);
    };
    for (std::uint32_t i = 0; i < repeat->least; ++i) follow(TRY(copy()));
    if (repeat->most == kRepeatForever) {
      Fragment body = TRY(copy());
      const std::uint32_t fork = TRY(add({.kind = Kind::Fork, .next = body.begin}));
      connect(body.open, fork);
      follow({fork, {{fork, true}}});
    } else {
      std::vector<Open> skipped;
      for (std::uint32_t i = repeat->least; i < repeat->most; ++i) {
        Fragment body = TRY(copy());
        const std::uint32_t fork = TRY(add({.kind = Kind::Fork, .next = body.begin}));
        connect(all.open, fork);
        skipped.push_back({fork, true});
        all.open = std::move(body.open);
      }
      append(all.open, std::move(skipped));
    }
    at_ = end;
    return all;
  }

  Result<std::optional<Repeat>> quantifier() {
    std::optional<Repeat> repeat;
    if (take('*')) {
      repeat = Repeat{0, kRepeatForever};
    } else if (take('+')) {
      repeat = Repeat{1, kRepeatForever};
    } else if (take('?')) {
      repeat = Repeat{0, 1};
    } else if (is_next('{')) {
      repeat = TRY(counts());
    }
    if (!repeat) return repeat;
    const bool is_lazy = take('?');  // Which matches the same names.
    if (!is_lazy && is_next('+')) {
      return refuse(ErrorCode::NotSupported, "a possessive quantifier");
    }
    if (is_next('*') || is_next('+') || is_next('?') || (is_next('{') && TRY(counts()))) {
      return refuse(ErrorCode::Corrupted, "a quantifier of a quantifier");
    }
    return repeat;
  }

  // {m}, {m,}, {,n} or {m,n}. Anything else is a brace like other characters.
  Result<std::optional<Repeat>> counts() {
    const std::size_t begin = at_++;
    const std::optional<std::uint32_t> least = number();
    std::optional<std::uint32_t> most = least;
    if (take(',')) {
      most = number();
      if (!most) most = kRepeatForever;
    }
    if (!most || !take('}')) {
      at_ = begin;
      return std::optional<Repeat>();
    }
    const Repeat repeat{least.value_or(0), *most};
    if (repeat.least > kRepeatMax || (repeat.most > kRepeatMax && repeat.most != kRepeatForever)) {
      return refuse(ErrorCode::TooLarge,
                    "a repeat of more than " + std::to_string(kRepeatMax) + " times");
    }
    if (repeat.least > repeat.most) {
      return refuse(ErrorCode::Corrupted, "a repeat whose least count is above its most");
    }
    return std::optional(repeat);
  }

  std::optional<std::uint32_t> number() {
    const std::size_t begin = at_;
    std::uint32_t value = 0;
    while (at_ < text_.size() && is_digit(text_[at_])) {
      value = std::min(kRepeatMax + 1, value * 10 + static_cast<std::uint32_t>(text_[at_++] - '0'));
    }
    if (at_ == begin) return std::nullopt;
    return value;
  }

  Result<Fragment> one(Step step) {
    const std::uint32_t added = TRY(add(step));
    return Fragment{added, {{added, false}}};
  }
  Result<Fragment> one_of(const Characters& characters) {
    pattern_.sets_.push_back(characters);
    return one({.kind = Kind::Characters,
                .characters = static_cast<std::uint32_t>(pattern_.sets_.size() - 1)});
  }
  static Characters only(char c) {
    Characters characters;
    characters.set(static_cast<std::size_t>(c));
    return characters;
  }

  Result<Fragment> atom(std::uint32_t depth) {
    const char c = text_[at_++];
    switch (c) {
      case '(':
        return group(depth);
      case '[':
        return one_of(TRY(set()));
      case '.':
        return one_of(~only('\n'));
      case '^':
        return one({.kind = Kind::Begin});
      case '$':
        return one({.kind = Kind::End});
      case '\\':
        return escaped();
      case '*':
      case '+':
      case '?':
        return refuse(ErrorCode::Corrupted, "a quantifier of nothing");
      default:
        return one_of(only(c));
    }
  }

  Result<Fragment> group(std::uint32_t depth) {
    if (depth >= kPatternDepthMax) {
      return refuse(ErrorCode::TooLarge,
                    "groups more than " + std::to_string(kPatternDepthMax) + " deep");
    }
    if (take('?')) {
      if (text_.substr(at_).starts_with("P<")) {
        at_ = std::min(text_.size(), text_.find('>', at_));
        if (!take('>')) return refuse(ErrorCode::Corrupted, "a group name without its >");
      } else if (!take(':')) {
        return refuse(ErrorCode::NotSupported, "a group of the kind (?" +
                                                   std::string(text_.substr(at_, 2)) +
                                                   "; groups, (?:) and (?P<name>) are supported");
      }
    }
    Fragment inside = TRY(alternatives(depth + 1));
    if (!take(')')) return refuse(ErrorCode::Corrupted, "a ( without its )");
    return inside;
  }

  // The characters of a letter that stands for many; nothing for any other letter.
  static std::optional<Characters> letter_class(char letter) {
    Characters characters;
    const char lower = static_cast<char>(letter | 0x20);
    if (lower != 'd' && lower != 'w' && lower != 's') return std::nullopt;
    for (int i = 0; i < 128; ++i) {
      const char c = static_cast<char>(i);
      if (lower == 'd' ? is_digit(c) : lower == 'w' ? is_word(c) : is_space(c)) {
        characters.set(static_cast<std::size_t>(i));
      }
    }
    return lower == letter ? characters : ~characters;
  }

  // The character that the letter after a backslash stands for. `at_` is after the letter.
  Result<char> single_escape(char letter) const {
    constexpr std::string_view kLetters = "nrtfva", kMeant = "\n\r\t\f\v\a";
    const std::size_t found = kLetters.find(letter);
    if (found != std::string_view::npos) return kMeant[found];
    if (is_word(letter) && letter != '_') {
      return refuse(ErrorCode::NotSupported, "the escape \\" + std::string(1, letter));
    }
    return letter;
  }

  Result<Fragment> escaped() {
    if (at_ == text_.size()) return refuse(ErrorCode::Corrupted, "a \\ at its end");
    const char letter = text_[at_++];
    if (letter == 'b') return one({.kind = Kind::WordEdge});
    if (letter == 'B') return one({.kind = Kind::NotWordEdge});
    if (letter == 'A') return one({.kind = Kind::Begin});
    if (letter == 'Z') return one({.kind = Kind::End});
    if (const auto characters = letter_class(letter)) return one_of(*characters);
    return one_of(only(TRY(single_escape(letter))));
  }

  // After the [.
  Result<Characters> set() {
    Characters all;
    const bool is_negated = take('^');
    for (bool is_first = true; is_first || !is_next(']'); is_first = false) {
      if (at_ == text_.size()) return refuse(ErrorCode::Corrupted, "a [ without its ]");
      Characters some;
      const std::optional<char> low = TRY(set_member(some));
      const bool is_range = low && is_next('-') && at_ + 1 < text_.size() && text_[at_ + 1] != ']';
      if (is_range) {
        ++at_;
        const std::optional<char> high = TRY(set_member(some));
        if (!high || *high < *low) return refuse(ErrorCode::Corrupted, "a range that ends early");
        for (char c = *low; c < *high; ++c) some.set(static_cast<std::size_t>(c));
        some.set(static_cast<std::size_t>(*high));
      }
      all |= some;
    }
    ++at_;
    return is_negated ? ~all : all;
  }

  // Adds one member, and gives it if it is a single character.
  Result<std::optional<char>> set_member(Characters& into) {
    char c = text_[at_++];
    if (c == '\\') {
      if (at_ == text_.size()) return refuse(ErrorCode::Corrupted, "a \\ at its end");
      c = text_[at_++];
      if (const auto characters = letter_class(c)) {
        into |= *characters;
        return std::optional<char>();
      }
      c = c == 'b' ? '\b' : TRY(single_escape(c));
    }
    into.set(static_cast<std::size_t>(c));
    return std::optional(c);
  }

  std::string_view text_;
  const std::string& where_;
  std::size_t at_ = 0;
  ModulePattern pattern_;
};

Result<ModulePattern> ModulePattern::parse(std::string_view expression, const std::string& where) {
  return PatternParser(expression, where).parse();
}

bool ModulePattern::matches(std::string_view name) const {
  if (is_plain_) return run_plain(name);
  return run(name, false);
}

bool ModulePattern::matches_end(std::string_view name) const {
  if (!is_plain_) return run(name, true);
  if (name.size() == text_.size()) return run_plain(name);
  return name.size() > text_.size() && name[name.size() - text_.size() - 1] == '.' &&
         run_plain(name.substr(name.size() - text_.size()));
}

// A dot of the expression stands for any character.
bool ModulePattern::run_plain(std::string_view name) const {
  return std::ranges::equal(name, text_,
                            [](char is, char wanted) { return wanted == '.' || is == wanted; });
}

bool ModulePattern::holds(Kind kind, std::string_view name, std::size_t at) {
  if (kind == Kind::Begin) return at == 0;
  if (kind == Kind::End) return at == name.size();
  const bool is_edge = (at > 0 && is_word(name[at - 1])) != (at < name.size() && is_word(name[at]));
  return is_edge == (kind == Kind::WordEdge);
}

// Adds the step, or those that it leads to without a character. Iterative: an expression may have
// thousands of forks in a row.
void ModulePattern::reach(std::uint32_t first, std::string_view name, std::size_t at,
                          std::vector<std::uint32_t>& reached,
                          std::vector<std::uint64_t>& seen) const {
  std::vector<std::uint32_t> todo{first};
  while (!todo.empty()) {
    const std::uint32_t index = todo.back();
    todo.pop_back();
    if (seen[index] == at + 1) continue;
    seen[index] = at + 1;
    const Step& step = steps_[index];
    switch (step.kind) {
      case Kind::Characters:
      case Kind::Match:
        reached.push_back(index);
        break;
      case Kind::Fork:
        todo.push_back(step.next);
        todo.push_back(step.other);
        break;
      default:
        if (holds(step.kind, name, at)) todo.push_back(step.next);
    }
  }
}

bool ModulePattern::run(std::string_view name, bool at_each_dot) const {
  std::vector<std::uint64_t> seen(steps_.size(), 0);
  std::vector<std::uint32_t> here, next;
  for (std::size_t at = 0; at <= name.size(); ++at) {
    if (at == 0 || (at_each_dot && name[at - 1] == '.')) reach(begin_, name, at, here, seen);
    if (at == name.size()) break;
    const auto c = static_cast<unsigned char>(name[at]);
    for (const std::uint32_t index : here) {
      const Step& step = steps_[index];
      if (step.kind != Kind::Characters || c >= 128) continue;
      if (sets_[step.characters].test(c)) reach(step.next, name, at + 1, next, seen);
    }
    std::swap(here, next);
    next.clear();
  }
  return std::ranges::any_of(
      here, [&](std::uint32_t index) { return steps_[index].kind == Kind::Match; });
}

}  // namespace quire::inference
