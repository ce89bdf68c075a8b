#pragma once
// The options of `quire bench launch`. bench/machine/bench_launch_command.h does the work.
#include <cstdint>
#include <string>
#include <vector>

#include "cli/options.h"

namespace quire::cli {

struct BenchLaunchOptions {
  EngineOptions engine;
  std::string program;                 // A module that sends a message before it does anything.
  std::vector<std::string> arguments;  // After "--".
  std::vector<std::uint32_t> simultaneous = {1, 8, 64, 128, 256, 512, 896};
  std::uint32_t program_count = 32;  // Different ones, never seen, at once; 0: not measured.
  std::uint32_t repetitions = 5;     // Rounds, at least; more where few are launched at once.
  OutputStyle output = OutputStyle::Text;
};

}  // namespace quire::cli
