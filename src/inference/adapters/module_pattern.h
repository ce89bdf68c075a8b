#pragma once
// ModulePattern: the regular expressions of PEFT configurations, matched against names of modules.
//
// Expressions come from files, so matching does not backtrack: it takes at most the length of the
// name times that of the compiled expression. Parts of Python's `re` that this lacks are refused by
// name: look-around, back-references, inline flags and possessive quantifiers. Characters are
// ASCII, as the names of modules are.
//
// Thread   any; nothing changes after parse().
// Errors   Corrupted for an expression that `re` refuses too; NotSupported for what this lacks;
//          TooLarge beyond the limits below.
#include <bitset>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace quire::inference {

inline constexpr std::size_t kPatternBytesMax = 16384;
inline constexpr std::size_t kPatternStepsMax = 4096;  // Of one compiled expression.
inline constexpr std::uint32_t kPatternDepthMax = 32;  // Of groups.

class ModulePattern {
 public:
  static Result<ModulePattern> parse(std::string_view expression, const std::string& where);

  // re.fullmatch(expression, name).
  bool matches(std::string_view name) const;
  // re.match("(.*\.)?(expression)$", name): `name`, or what follows one of its dots, matches.
  bool matches_end(std::string_view name) const;

  // The steps that matching takes for each character of a name; 0 for a plain name, which is
  // compared.
  std::size_t step_count() const { return is_plain_ ? 0 : steps_.size(); }

 private:
  friend class PatternParser;
  enum class Kind : std::uint8_t { Characters, Fork, Begin, End, WordEdge, NotWordEdge, Match };
  struct Step {
    Kind kind{};
    std::uint32_t next = 0;        // Of all but Match.
    std::uint32_t other = 0;       // Of Fork.
    std::uint32_t characters = 0;  // Into sets_.
  };
  using Characters = std::bitset<128>;
  static bool holds(Kind kind, std::string_view name, std::size_t at);
  void reach(std::uint32_t step, std::string_view name, std::size_t at,
             std::vector<std::uint32_t>& reached, std::vector<std::uint64_t>& seen) const;
  bool run(std::string_view name, bool at_each_dot) const;
  bool run_plain(std::string_view name) const;

  bool is_plain_ = false;
  std::string text_;  // The expression, of a plain one.
  std::uint32_t begin_ = 0;
  std::vector<Step> steps_;
  std::vector<Characters> sets_;
};

}  // namespace quire::inference
