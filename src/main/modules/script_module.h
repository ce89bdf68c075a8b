#pragma once
// A script as a module: all its files, found by their imports, and the runtime that it is made for,
// in the sections `quire.script` and `quire.options` of a module without code
// (application/sandbox/script_bundle.h).
//
// Thread   any; plain functions that read files.
// Errors   InvalidArgument, NotFound and TooLarge name the file and, where there is one, the line.
#include <string>
#include <vector>

#include "application/sandbox/script_runtimes.h"
#include "base/result.h"

namespace quire::modules {

// The name of the runtime for a file, by its ending: .js, .mjs, .ts and .mts. Empty: it is not a
// script.
std::string script_runtime_of(const std::string& path);

struct ScriptSource {
  std::string path;  // In the bundle: relative to the entry's folder.
  std::string file;  // Where it was read.
  std::string content;
};

// The entry first, then what it and the others import. Only files in the folder of the entry and
// below belong to a script.
Result<std::vector<ScriptSource>> collect_script(const std::string& entry_file);

Result<std::string> script_module(const std::vector<ScriptSource>& sources,
                                  const sandbox::ScriptRuntime& runtime,
                                  const std::string& options = "");

}  // namespace quire::modules
