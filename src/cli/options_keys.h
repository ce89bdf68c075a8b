#pragma once
// The options of `quire keys`. src/main/verbs/serve/keys_command.h does the work.
#include <cstdint>
#include <string>

#include "cli/options.h"

namespace quire::cli {

enum class KeysAction : std::uint8_t { Add, List, Revoke };
struct KeysOptions {
  KeysAction action = KeysAction::List;
  std::string file;
  std::string name;
  std::uint32_t tenant = 0;                                       // Add.
  std::string rights = "launch,upload,name-programs,see-tenant";  // Add.
  std::string expires;                                            // Add; empty: the key has no end.
  OutputStyle output = OutputStyle::Text;
};

}  // namespace quire::cli
