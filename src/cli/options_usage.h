#pragma once
// The options of `quire usage`. src/main/verbs/serve/usage_command.h does the work.
#include <cstdint>
#include <optional>
#include <string>

#include "cli/options.h"

namespace quire::cli {

struct UsageOptions {
  std::string data;                          // The file of `quire serve --usage`.
  std::string since;                         // A day; empty: all.
  std::optional<std::uint32_t> tenant = {};  // Of this one only.
  OutputStyle output = OutputStyle::Text;
};

}  // namespace quire::cli
