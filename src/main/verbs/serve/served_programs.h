#pragma once
// ServedPrograms finds the programs and the endpoints that the command line of `quire serve` names,
// and compiles those that are sources.
//
// Owns     a folder for the modules of sources, where there are any; it goes with this object.
// Thread   the main thread; waits for the compiler, whose messages reach the user.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "application/server/endpoint_table.h"
#include "application/server/gateway.h"
#include "base/result.h"
#include "cli/options_serve.h"
#include "main/machine/application.h"
#include "main/verbs/make/program_files.h"
#include "main/verbs/serve/end_watch.h"
#include "main/verbs/serve/endpoint_programs.h"
#include "main/verbs/serve/source_watch.h"
#include "main/verbs/shared/scratch_folder.h"

namespace quire {

class ServedPrograms {
 public:
  explicit ServedPrograms(const cli::ServeOptions& options) : options_(options) {}

  // Gives an exit code if the server is not to start. The user knows why, or has asked for it
  // (end.is_asked()). An error is one of an endpoint.
  Result<std::optional<int>> find(EndWatch& end);

  // PROGRAMs by name, without those that only endpoints bring.
  const ProgramFiles& named() const { return named_; }
  // Requires: find() succeeded.
  server::EndpointTable take_endpoints() { return std::move(*endpoints_); }
  // Why endpoints of quire are left out; empty if none are.
  const std::string& missing() const { return endpoint_programs_->shipped_failure(); }
  // The programs of the user, whose files a watch can look at.
  std::vector<WatchedProgram> watched() const;
  // PROGRAMs keep their names; a client may give the name of an endpoint's module to another.
  Result<void> bring(lifecycle::InstanceManager& manager, server::Gateway& gateway) const;

 private:
  std::filesystem::path make_scratch(EndWatch& end);
  void note_files();

  const cli::ServeOptions& options_;
  std::optional<ScratchFolder> scratch_;
  ProgramFiles named_;
  // The state of each file that the command line names, by path, before any of them was read.
  std::map<std::string, FileStates> files_;
  std::optional<EndpointPrograms> endpoint_programs_;
  std::optional<server::EndpointTable> endpoints_;
};

}  // namespace quire
