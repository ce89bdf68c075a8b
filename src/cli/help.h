#pragma once
// The texts of --help and --help-all, from the rows. --help has the rows of the verb itself, and
// --help-all also the limits and the flags of the engine. Those are the same for each verb that
// starts an engine.
//
// Thread   any; plain functions.
#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

namespace quire::cli {

// The headings of what --help leaves out.
inline constexpr const char* kLimitsGroup = "Limits";
inline constexpr const char* kEngineGroup = "Engine";

enum class HelpScope : std::uint8_t { Verb, All };
// In lines of at most `columns`.
std::string help_of(const CLI::App& app, HelpScope scope, std::uint32_t columns);

// Says what --help-all adds to --help. A verb takes it also if it adds nothing, and then does not
// list it.
void describe_help_all(CLI::App& verb);

}  // namespace quire::cli
