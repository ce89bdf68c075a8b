#pragma once
// The configuration file as a layer under the flags and variables of a verb: its keys are the long names
// of the verb's flags, so a new flag is a new key.
//
// A flag wins over a variable, a variable over the file, the file over the default. The file's values go
// through the same checks as those of the command line, because they become words of it.
//
// Thread   any. Errors: InvalidArgument and NotFound name the file, and the line where there is one.
#include <CLI/CLI.hpp>
#include <map>
#include <string>
#include <vector>

#include "cli/options_config.h"
#include "cli/word_check.h"

namespace quire::cli {

struct ConfigLayer {
  std::string file;                // Empty: there is none.
  std::vector<std::string> words;  // To follow those of the command line.
  // "quire.toml:3", of the options whose value is the file's.
  std::map<const CLI::Option*, std::string> places;
  std::map<const CLI::Option*, std::string>
      flags_off;  // The same of flags that the file says false of.
};

// Whether the verb has a --config.
bool takes_config(const CLI::App& verb);

// Requires: takes_config(verb). --config or QUIRE_CONFIG names the file; without either it is
// default_config_path(), if that is there.
Result<ConfigLayer> read_config_layer(const CLI::App& verb, const CheckedWords& checked,
                                      const CommandWords& command);

// $XDG_CONFIG_HOME/quire/quire.toml, else $HOME/.config/quire/quire.toml. Empty where neither is set.
std::string default_config_path();

// Each value of a verb that was parsed, and where it comes from.
std::vector<ShownValue> shown_values(const CLI::App& verb, const CheckedWords& checked,
                                     const ConfigLayer& layer);

// An error about a value of the file, with its place in the name of the flag's.
std::string with_place(std::string message, const ConfigLayer& layer);

}  // namespace quire::cli
