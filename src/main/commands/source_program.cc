#include "main/commands/source_program.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <system_error>
#include <vector>

#include "cli/exit_code.h"
#include "main/commands/build_command.h"
#include "main/commands/guest_toolchain.h"
#include "main/commands/output.h"
#include "main/commands/precompiled_sdk.h"
#include "main/commands/process.h"
#include "main/commands/sdk_location.h"
#include "main/machine/folders.h"

namespace quire {
namespace {

namespace fs = std::filesystem;
using cli::ExitCode;

std::optional<PrecompiledSdk> find_precompiled(const std::string& source,
                                               const std::string& compiler,
                                               const SdkLocation& sdk) {
  if (!includes_sdk(source)) return std::nullopt;
  Result<PrecompiledSdk> found = precompiled_sdk(compiler, sdk, cache_folder(), [] {
    std::fputs("compiling the SDK once, so that programs compile quickly\n", stderr);
  });
  if (found.ok()) return std::move(found).take();
  warn("the SDK is compiled with the program: " + std::string(found.error().message()));
  return std::nullopt;
}

Result<int> run_compiler(const std::vector<std::string>& command) {
  return TRY(run_process(command, ProcessOutput::Show)).exit_code;
}

// The compiler and the linker, one after the other, because only the first reads the header.
Result<int> compile_with(const PrecompiledSdk& precompiled, const std::string& compiler,
                         const SdkLocation& sdk, const std::string& source,
                         const std::string& module) {
  std::vector<std::string> line = {compiler};
  const std::vector<std::string> flags = TRY(quick_compile_flags(sdk));
  line.insert(line.end(), flags.begin(), flags.end());
  const std::string object = module + ".o";
  line.insert(line.end(), {"-include-pch", precompiled.header, "-c", source, "-o", object});
  const int compiled = TRY(run_compiler(line));
  if (compiled != 0) return compiled;
  line = guest_command(compiler, sdk);
  line.insert(line.end(),
              {"-fno-lto", "-Wl,--strip-debug", object, precompiled.object, "-o", module});
  return run_compiler(line);
}

Result<int> compile_alone(const std::string& compiler, const SdkLocation& sdk,
                          const std::string& source, const std::string& module) {
  std::vector<std::string> line = guest_command(compiler, sdk);
  line.insert(line.end(), {"-O0", "-fno-lto", "-Wl,--strip-debug", source, "-o", module});
  return run_compiler(line);
}

Result<int> compile(const std::string& compiler, const SdkLocation& sdk, const std::string& source,
                    const std::string& module) {
  const auto precompiled = find_precompiled(source, compiler, sdk);
  if (!precompiled) return compile_alone(compiler, sdk, source, module);
  const int compiled = TRY(compile_with(*precompiled, compiler, sdk, source, module));
  std::error_code ignored;
  // Another process may have made room in the cache meanwhile.
  const bool is_gone =
      !fs::exists(precompiled->header, ignored) || !fs::exists(precompiled->object, ignored);
  if (compiled != 0 && is_gone) return compile_alone(compiler, sdk, source, module);
  return compiled;
}

}  // namespace

bool is_cpp_source(const std::string& path) {
  const std::string ending = fs::path(path).extension().string();
  return ending == ".cpp" || ending == ".cc" || ending == ".cxx" || ending == ".C";
}

int build_for_run(const std::string& source, const std::string& module) {
  std::error_code ignored;
  if (!fs::is_regular_file(source, ignored)) return fail(ExitCode::Missing, "no file " + source);
  const char* given = std::getenv("QUIRE_SDK");
  const Result<SdkLocation> sdk = find_sdk(std::string(given == nullptr ? "" : given));
  if (!sdk.ok()) return fail(ExitCode::Missing, std::string(sdk.error().message()));
  const Result<std::string> compiler = find_guest_compiler("");
  if (!compiler.ok()) return fail(ExitCode::Missing, std::string(compiler.error().message()));
  const Result<int> compiled = compile(compiler.value(), sdk.value(), source, module);
  if (!compiled.ok()) return fail(ExitCode::Missing, std::string(compiled.error().message()));
  if (compiled.value() == 0) return finish_program(module);
  return fail_build(compiler.value(), compiled.value(), source + " was not compiled");
}

}  // namespace quire
