#include "main/verbs/serve/compiler_sandbox.h"

#include <cerrno>
#include <string>
#include <utility>

#include "base/sanitizer.h"

namespace quire {
namespace {

// The report of a process that cannot be had.
workers::WallReport nothing_stands() {
  workers::WallReport report;
  for (std::int32_t& each : report.missing) each = ENOTSUP;
  return report;
}

}  // namespace

Result<workers::WallReport> check_compiler_sandbox(Result<workers::WallReport> found,
                                                   cli::CompileSandbox wanted,
                                                   const server::TellOperator& tell) {
  if (found.ok() && found.value().is_whole()) return found;
  const std::string missing = found.ok()
                                  ? "this machine lacks " + workers::missing_walls(found.value())
                                  : std::string(found.error().message());
  if (wanted == cli::CompileSandbox::Require) {
    return Error(ErrorCode::Unavailable, "--compile-sandbox require: " + missing);
  }
  const workers::WallReport report = found.ok() ? found.value() : nothing_stands();
  // The filter of system calls and sanitizers exclude each other, and such a build serves tests.
  if (kUnderSanitizer) return report;
  tell({"compile_sandbox",
        server::Severity::Warning,
        "the sandbox of the process that compiles what clients upload is not whole: " + missing +
            "; --compile-sandbox require refuses to start so",
        {{"missing", missing}}});
  return report;
}

}  // namespace quire
