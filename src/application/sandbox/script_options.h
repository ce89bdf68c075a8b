#pragma once
// script_options() asks the runtime of a script which options the script declares: what building a script does, as
// call_text_export() for a program with code (text_export.h). The script's modules are evaluated, without a host: it has
// no arguments, its clock stands at 0, random bytes are 0, and every other call traps.
//
// Thread   any; nothing is kept. A thread of its own counts the time while the script runs.
// Errors   InvalidArgument where the script calls its host, traps or takes longer than kScriptOptionsMs; those of
//          reading the runtime; NotSupported in a build without Wasm.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "application/sandbox/script_runtimes.h"
#include "base/result.h"

namespace quire::sandbox {

inline constexpr std::uint32_t kScriptOptionsMs = 1'000;

// `script`: a bundle (script_bundle.h), whose own options do not matter. The JSON schema; nothing if the script declares
// no options, or cannot be evaluated, which running it says better.
Result<std::optional<std::string>> script_options(const ScriptRuntime& runtime,
                                                  std::string_view script);

}  // namespace quire::sandbox
