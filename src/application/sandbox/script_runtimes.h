#pragma once
// The runtimes of scripts that come with quire: a module for each language, made by the build
// (quire_runtime of cmake/Inferlets.cmake), whose interpreter has started already. Of each a folder
// has three files: NAME.json (name, version and digest), NAME.wasm and NAME.cwasm, its code for
// this kind of machine.
//
// Thread   any; plain functions that read files.
// Errors   NotFound for a runtime that is not there, with the versions that are; Corrupted for
// files
//          that do not fit together. The folder is trusted as the executable is.
#include <string>
#include <vector>

#include "application/sandbox/script_bundle.h"
#include "base/result.h"
#include "base/sha256.h"

namespace quire::sandbox {

struct ScriptRuntime {
  std::string name;
  std::string version;
  Digest digest{};          // Of the module.
  std::string module_file;  // Paths.
  std::string code_file;

  // "javascript 0.1.0 (3fa9c04e)": the first bytes of the digest tell builds apart.
  std::string title() const;
  bool runs(const ScriptBundle& script) const;
};

// Reads the runtimes of a folder, by name. Empty for an empty path and a folder that is not there.
Result<std::vector<ScriptRuntime>> read_runtimes(const std::string& folder);

// The one of that name, for a script that is being made.
Result<ScriptRuntime> find_runtime(const std::string& folder, const std::string& name);
// The one that the script was made for.
Result<ScriptRuntime> find_runtime(const std::string& folder, const ScriptBundle& script);

// The module, if it has the digest.
Result<std::string> read_runtime_module(const ScriptRuntime& runtime);

// The text of NAME.json.
std::string runtime_manifest(const std::string& name, const std::string& version,
                             const Digest& digest);

}  // namespace quire::sandbox
