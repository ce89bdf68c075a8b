#pragma once
// ScriptWorkbench calls functions of a runtime that read a script and do not run it as a program:
// which options it declares, and what its byte code is. Each call has a fresh instance without a
// host. Its clock stands at 0, random bytes are 0, its log is dropped, and every other call of the
// host fails with NotSupported.
//
// Owns     an engine beside the pool of instances, the code of the runtime, and a thread that
//          counts the time while a call runs.
// Thread   one at a time.
// Errors   InvalidArgument with the last error that the runtime logged before it trapped, as where
//          the script cannot be evaluated; NotSupported with its last warning, where a call of the
//          host is why; InvalidArgument if it takes longer than kWorkbenchMs; those of reading the
//          runtime; NotSupported in a build without Wasm.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "application/sandbox/script_runtimes.h"
#include "base/result.h"

namespace quire::sandbox {

inline constexpr std::uint32_t kWorkbenchMs = 1'000;

class ScriptWorkbench {
 public:
  static Result<std::unique_ptr<ScriptWorkbench>> open(const ScriptRuntime& runtime);
  virtual ~ScriptWorkbench() = default;

  // `script`: a bundle (script_bundle.h). Its modules are evaluated. The JSON schema; nothing if
  // the script declares no options.
  virtual Result<std::optional<std::string>> options(std::string_view script) = 0;

  // Nothing of the script is evaluated. Its byte code, for instances of this runtime alone; empty
  // if the runtime makes none of it.
  virtual Result<std::string> byte_code(std::string_view script) = 0;
};

}  // namespace quire::sandbox
