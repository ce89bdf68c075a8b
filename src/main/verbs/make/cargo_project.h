#pragma once
// A program that is a Cargo project: a folder with Cargo.toml. Cargo compiles it for wasm32-wasip1;
// this finds cargo and a compiler that has the standard library for that target, and takes the
// module that cargo names.
//
// What cargo and rustc say reaches the user as it is. What is missing is named with the command
// that installs it.
//
// Thread   the main thread; waits for cargo.
#include <string>
#include <vector>

#include "base/result.h"

namespace quire {

struct CargoBuild {
  std::string project;   // The folder.
  std::string output;    // The module; empty: named by the project's binary, in the folder.
  std::string bin = {};  // Which of several programs; empty: that of default-run, or the only one.
  std::vector<std::string> flags = {};  // Of `cargo build`.
  bool debug = false;                   // Without optimizing.
  bool verbose = false;                 // Prints the command line.
  bool quiet = false;                   // Only what rustc says of the program.
};

// The compiler that makes modules of Rust in the current folder. NotFound says what to install.
Result<std::string> find_rust_compiler();

bool is_cargo_project(const std::string& path);
// The error of --bin for a program that is not a Cargo project.
std::string no_cargo_project_text(const std::string& path);

// Makes the module, says on standard error what went wrong, and returns an exit code of
// cli/exit_code.h: Ok, Missing (cargo, the target), Failed (it does not compile, or makes not
// exactly one program).
int build_cargo_project(const CargoBuild& build);

// Cargo.toml, Cargo.lock if it is there, and the sources below src.
std::vector<std::string> files_of_cargo_project(const std::string& project);

}  // namespace quire
