#pragma once
// The rows of the command line as CLI11 holds them: verbs, flags and positions. --help, completion
// and the manual pages are made of them.
//
// Thread   any; plain functions.
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace quire::cli {

// Includes the options of its groups of flags, which CLI11 keeps as verbs without a name.
std::vector<const CLI::Option*> options_of(const CLI::App& app);
std::vector<const CLI::App*> verbs_of(const CLI::App& app);
// "quire kv list".
std::string full_name(const CLI::App& app);
// Null if the verb has no flag of that name; `name` has its dashes.
const CLI::Option* find_flag(const CLI::App& app, const std::string& name);
bool takes_value(const CLI::Option& flag);
// "FILE": what a value is, without its range.
std::string type_of(const CLI::Option& option);
// "0 to 1000000, default 0"; empty: there is nothing to say.
std::string facts_of(const CLI::Option& option);
// "--deadline SECONDS (0 to 1000000, default 0)", "PROGRAM...".
std::string head_of(const CLI::Option& option);
// " [OPTIONS] PROGRAM": what follows the verb.
std::string usage_of(const CLI::App& app);
// The values of an enumeration, whose type is their list, as "text|json"; none for other types.
std::vector<std::string> choices_of(const CLI::Option& option);

}  // namespace quire::cli
