#pragma once
// The options of `quire config`. src/main/verbs/serve/config_command.h does the work.
#include <string>
#include <vector>

#include "cli/options.h"

namespace quire::cli {

struct ShownValue {
  std::string key;
  std::vector<std::string> values;  // Empty: there is none.
  std::string origin;               // "default", "flag", "variable QUIRE_X" or "quire.toml:3".
};

struct ConfigOptions {
  OutputStyle output = OutputStyle::Text;
  std::string file;  // Empty: no configuration file was read.
  std::vector<ShownValue> values;
};

}  // namespace quire::cli
