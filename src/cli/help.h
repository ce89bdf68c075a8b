#pragma once
// The texts of --help and --help-all. --help has what belongs to the verb, --help-all also the
// limits and the flags of the engine, which are the same for each verb that starts one.
//
// Thread   any; plain functions.
#include <CLI/CLI.hpp>
#include <string>

namespace quire::cli {

// The headings of what --help leaves out.
inline constexpr const char* kLimitsGroup = "Limits";
inline constexpr const char* kEngineGroup = "Engine";

enum class HelpScope : std::uint8_t { Verb, All };
std::string help_of(const CLI::App& app, HelpScope scope);

// Says what --help-all adds to --help. A verb takes it also if it adds nothing, and then does not
// list it.
void describe_help_all(CLI::App& verb);

}  // namespace quire::cli
