#pragma once
// SourceModules makes modules of the sources among the programs that a command line gives, C++,
// scripts and Cargo projects, as `quire run FILE` does of its program. program_name_of() says how
// they are named. If a folder is not itself a project, it stands for the Cargo projects in it and
// for the scripts that no other script in it imports.
//
// Owns     nothing; the modules lie in the folder that it is given.
// Thread   the main thread; waits for the compiler, whose messages reach the user.
// Errors AlreadyExists for two programs of one name; InvalidArgument for an invalid name, and for a
// source that was not
//          built, after the reason was printed.
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace quire {

class SourceModules {
 public:
  static bool has_source(const std::vector<std::string>& paths);

  // `folder` is there if has_source() is true.
  explicit SourceModules(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // The paths, with the module of each source in its place.
  Result<std::vector<std::string>> build(const std::vector<std::string>& paths);
  // After build() failed: the exit code of a source that was not built; 0 if something else was
  // wrong.
  int exit_code() const { return exit_code_; }
  // The sources of build(), by name.
  const std::map<std::string, std::string>& sources() const { return sources_; }

 private:
  const std::filesystem::path folder_;
  std::map<std::string, std::string> sources_;
  int exit_code_ = 0;
};

}  // namespace quire
