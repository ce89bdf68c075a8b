#pragma once
// The options of `quire build`. src/main/verbs/make/build_command.h does the work.
#include <string>
#include <vector>

namespace quire::cli {

struct BuildOptions {
  std::vector<std::string> sources = {};  // At least one C++ file.
  std::string output = {};                // -o; empty: the first source with .wasm for its ending.
  std::vector<std::string> flags = {};    // After `--`: handed to the compiler as they are.
  std::string sdk = {};                   // --sdk or QUIRE_SDK; empty: beside this program.
  std::string bin = {};                   // --bin: a program of a Cargo project.
  std::string compiler = {};  // --compiler; empty: clang++-22, then clang++ of 16 or later.
  bool debug = false;         // --debug: -O0 -g instead of -Oz.
  bool verbose = false;       // --verbose: print the compiler's command line.
};

}  // namespace quire::cli
