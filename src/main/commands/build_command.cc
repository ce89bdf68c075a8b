#include "main/commands/build_command.h"

#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "cli/exit_code.h"
#include "main/commands/guest_toolchain.h"
#include "main/commands/output.h"
#include "main/commands/process.h"
#include "main/commands/sdk_location.h"

namespace quire {
namespace {

namespace fs = std::filesystem;

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& each : words) {
    const bool quote = each.find_first_of(" \t'\"$\\") != std::string::npos;
    out += (out.empty() ? "" : " ") + (quote ? "'" + each + "'" : each);
  }
  return out;
}

std::vector<std::string> command_line(const cli::BuildOptions& options, const SdkLocation& sdk,
                                      const std::string& compiler, const std::string& output) {
  std::vector<std::string> line = guest_command(compiler, sdk);
  if (options.debug) {
    line.insert(line.end(), {"-O0", "-g"});
  } else {
    // Function names stay: a trap's backtrace shows them.
    line.insert(line.end(), {"-O2", "-Wl,--strip-debug"});
  }
  line.insert(line.end(), options.flags.begin(), options.flags.end());
  line.insert(line.end(), options.sources.begin(), options.sources.end());
  line.insert(line.end(), {"-o", output});
  return line;
}

}  // namespace

int build_command(const cli::BuildOptions& options) {
  using cli::ExitCode;
  if (options.sources.empty()) return fail(ExitCode::Usage, "no source was given");
  for (const std::string& each : options.sources) {
    std::error_code ignored;
    if (!fs::is_regular_file(each, ignored)) return fail(ExitCode::Missing, "no file " + each);
  }
  Result<SdkLocation> sdk = find_sdk(options.sdk);
  if (!sdk.ok()) return fail(ExitCode::Missing, std::string(sdk.error().message()));
  Result<std::string> compiler = find_guest_compiler(options.compiler);
  if (!compiler.ok()) return fail(ExitCode::Missing, std::string(compiler.error().message()));
  const std::string output = options.output.empty()
                                 ? fs::path(options.sources[0]).replace_extension(".wasm").string()
                                 : options.output;
  const std::vector<std::string> line =
      command_line(options, sdk.value(), compiler.value(), output);
  if (options.verbose) std::fprintf(stderr, "%s\n", joined(line).c_str());
  Result<ProcessEnd> end = run_process(line, ProcessOutput::Show);
  if (!end.ok()) return fail(ExitCode::Missing, std::string(end.error().message()));
  if (end.value().exit_code == 0) return cli::number(ExitCode::Ok);
  if (end.value().exit_code > 128) {
    return fail(ExitCode::Failed, compiler.value() + " was ended by signal " +
                                      std::to_string(end.value().exit_code - 128));
  }
  if (!can_build_for_wasm(compiler.value(), nullptr)) {
    return fail(ExitCode::Missing,
                compiler.value() +
                    " lacks the linker or the libraries for Wasm; install them with: "
                    "apt-get install " +
                    kGuestPackages);
  }
  return fail(ExitCode::Failed, "the compiler found errors; " + output + " was not made");
}

}  // namespace quire
