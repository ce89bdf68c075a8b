#pragma once
// EndpointPrograms finds the program of each endpoint of `quire serve`. It is one that the command
// line names, the file of a module, or one that comes with quire. It may also be a source, C++ or a
// script, of which a module is made as for `quire run FILE`.
//
// Thread   the main thread; waits for the compiler, whose messages reach the user.
// Errors   name the endpoint, and say what is wrong with it or its program.
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "application/server/endpoint_table.h"
#include "base/result.h"
#include "cli/options_serve.h"
#include "main/verbs/make/program_files.h"
#include "main/verbs/shared/shipped_endpoints.h"

namespace quire {

// The programs of the endpoints that come with quire (shipped_endpoints.h).
struct ShippedUse {
  bool is_there = true;
  cli::EndpointBehavior behavior = {};
};

class EndpointPrograms {
 public:
  // `named` are the programs of the command line, of which `sources` were compiled (source_modules.h). Modules of further
  // sources come into `scratch`, which exists if has_source() is true.
  EndpointPrograms(const ProgramFiles& named, std::map<std::string, std::string> sources,
                   std::filesystem::path scratch)
      : named_(named), scratch_(std::move(scratch)), given_(std::move(sources)) {}

  static bool has_source(const std::vector<std::string>& endpoints);

  // The endpoints, each with the name of its program; with those of quire where the user has none,
  // as `shipped` says. AlreadyExists if a program of the user has the name of one that comes with
  // quire, is another module, and would answer at a path of quire's that the user did not name. The
  // rules of programs that come with quire decode bodies, also if the operator
  // gave the rule.
  Result<server::EndpointTable> find(const std::vector<std::string>& endpoints,
                                     const ShippedUse& shipped);
  // Why endpoints of quire are left out, as in a program that was copied alone; empty if none are.
  const std::string& shipped_failure() const { return shipped_failure_; }
  // After find() failed: the exit code of a source that was not compiled, whose reason was printed; 0
  // if something else was wrong.
  int build_exit_code() const { return build_exit_code_; }
  // The file of a program as the user wrote it, and whether an endpoint named it so.
  std::string given_path(const std::string& name) const;
  bool is_given(const std::string& name) const { return given_.contains(name); }
  // The modules that the endpoints bring, by name.
  const ProgramFiles& brought() const { return brought_; }

 private:
  Result<std::string> name_of(const server::EndpointRule& rule);
  // Whether the file with that name is to be brought; AlreadyExists if the name is another file's.
  Result<bool> claim(const std::string& name, const std::string& path);
  Result<std::string> build(const std::string& source);
  bool is_shipped(const std::string& name) const;
  Result<void> add_shipped(std::vector<server::EndpointRule>& rules,
                           const cli::EndpointBehavior& behavior);

  const ProgramFiles& named_;
  const std::filesystem::path scratch_;
  ProgramFiles brought_;
  std::map<std::string, std::string> given_;  // What the user gave, a module or a source, by name.
  std::string shipped_failure_;
  int build_exit_code_ = 0;
};

}  // namespace quire
