#pragma once
// The options of `quire completion`. src/main/verbs/make/completion_command.h does the work.
#include <cstdint>

namespace quire::cli {

enum class Shell : std::uint8_t { Bash, Zsh, Fish };

struct CompletionOptions {
  Shell shell = Shell::Bash;
};

}  // namespace quire::cli
