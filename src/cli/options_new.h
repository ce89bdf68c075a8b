#pragma once
// What `quire new` was asked for. src/main/commands/new_command.h does the work.
#include <string>

namespace quire::cli {

struct NewOptions {
  std::string name = {};    // The project: letters, digits, '_' and '-', a letter first.
  std::string parent = {};  // Where its folder is made; empty: the current folder.
};

}  // namespace quire::cli
