#pragma once
// The module of a runtime for scripts after its interpreter has started: `_initialize` and `init`
// run once, when quire is built, and what memory and globals hold then is what the written module
// begins with. An instance therefore starts without the milliseconds that an interpreter needs, and
// the engine maps the memory copy-on-write.
//
// Thread   any; plain functions.
// Errors   InvalidArgument states what the image could not keep: an imported memory or global, a
//          second memory, a start function, passive segments, a mutable global that is not a
//          number, code that could change a table, a call of an import.
#include <string>
#include <string_view>

#include "base/result.h"

namespace quire::modules {

// The exports `_initialize` and `init` are gone from the returned module. The same module gives the
// same image.
Result<std::string> started_module(std::string_view wasm);

// Starts the module of the file and writes NAME.wasm, NAME.cwasm and NAME.json (script_runtimes.h)
// into a folder, which exists.
Result<void> make_runtime(const std::string& module_file, const std::string& name,
                          const std::string& version, const std::string& folder);

}  // namespace quire::modules
