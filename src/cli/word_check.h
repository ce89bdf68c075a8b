#pragma once
// A look at the words of a command line before CLI11 parses them: the first word that no verb knows
// is named, with what the user may have meant. CLI11 reports such words at the end, in reverse
// order, and after it has complained about what they should have been.
//
// Thread   any. Errors: InvalidArgument for the user's mistake.
#include <CLI/CLI.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"

namespace quire::cli {

// The words of a command line, without what follows the "--" of `run`, `build` and `bench launch`.
struct CommandWords {
  std::string program = "quire";
  std::vector<std::string> words;
  std::vector<std::string> after_dashes;
  // Names the receiver of the words after "--"; empty: there is none.
  std::string hands_rest_to;
};

struct CheckedWords {
  const CLI::App* verb = nullptr;      // The deepest verb that was named; the program without one.
  std::set<const CLI::Option*> given;  // Flags of the verb that the command line gives.
  std::size_t value_count = 0;         // Values that stand by their position.
};

// `parsed` also gets what was seen before the first error.
Result<void> check_words(const CLI::App& program, const CommandWords& command,
                         CheckedWords& parsed);

// The error for words that are left over, because the verb takes fewer values.
std::string too_many_words(const CLI::App& verb, const CommandWords& command,
                           const std::vector<std::string>& left_over);

// The user's variables QUIRE_* that are nearly, but not quite, one that Quire reads: a line each.
std::vector<std::string> misspelt_variables(const CLI::App& program,
                                            const char* const* environment);

}  // namespace quire::cli
