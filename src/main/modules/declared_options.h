#pragma once
// The options that a program declares: the JSON schema in its section quire.options, which the
// SDK's OptionReader (sdk/cpp/include/quire/options.h) writes.
//
// Thread   any; plain values.
// Errors   InvalidArgument says what is wrong, and with which option.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace quire::modules {

inline constexpr std::string_view kOptionsSection = "quire.options";

enum class OptionKind : std::uint8_t { Text, Texts, Flag, Whole, Real };

struct DeclaredOption {
  std::string name;
  OptionKind kind = OptionKind::Text;
  std::string meaning;
  // Numbers as the schema spells them, or texts; empty: none.
  std::string minimum;
  std::string maximum;
  std::string default_text;
  std::vector<std::string> choices = {};  // The values that a text may have; empty: any.
  bool is_required = false;
  bool takes_words = false;  // Words that belong to no option.
};
using DeclaredOptions = std::vector<DeclaredOption>;

Result<DeclaredOptions> parse_declared_options(std::string_view json);

// The declaration of a module; nothing if it has no such section.
Result<std::optional<DeclaredOptions>> declared_options_of(std::string_view wasm);

// A line, or as many as it takes, for each option. Ends with a newline.
// Lines have at most `columns`, unless a word is longer.
std::string options_help(const std::string& program, const DeclaredOptions& options,
                         std::uint32_t columns = 100);

// "plain, grand".
std::string listed_choices(const DeclaredOption& option);

// Whether the program's own reader will take the words; the messages are the reader's.
Result<void> check_program_words(const DeclaredOptions& options,
                                 const std::vector<std::string>& words);

}  // namespace quire::modules
