#pragma once
// The options of `quire status`. src/main/verbs/serve/status_command.h does the work.
#include <string>

#include "cli/options.h"

namespace quire::cli {

struct StatusOptions {
  std::string server = "ws://127.0.0.1:7847";
  std::string key_file = {};  // Empty: $QUIRE_KEY, if any.
  OutputStyle output = OutputStyle::Text;
};

}  // namespace quire::cli
