#include "main/commands/build_command.h"

#include <unistd.h>

#include <quire_paths.h>
#include <array>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "cli/exit_code.h"
#include "main/commands/process.h"
#include "main/commands/scratch_folder.h"
#include "main/commands/sdk_location.h"

namespace quire {
namespace {

namespace fs = std::filesystem;

constexpr int kClangVersionMin = 16;  // The first whose coroutines and C++20 library suffice.
constexpr const char* kHowToInstall =
    "install it with: apt-get install clang-22 lld-22 wasi-libc libc++-22-dev-wasm32 "
    "libc++abi-22-dev-wasm32 libclang-rt-22-dev-wasm32";

int fail(cli::ExitCode code, const std::string& message) {
  std::fprintf(stderr, "quire build: %s\n", message.c_str());
  return cli::number(code);
}

// The major version of a clang, or nothing if there is no such program.
std::optional<int> clang_version(const std::string& compiler) {
  Result<ProcessEnd> end = run_process({compiler, "-dumpversion"}, ProcessOutput::Return);
  if (!end.ok() || end.value().exit_code != 0) return std::nullopt;
  const std::string& text = end.value().output;
  int major = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), major).ec != std::errc()) {
    return std::nullopt;
  }
  return major;
}

Result<std::string> find_compiler(const std::string& wanted) {
  if (!wanted.empty()) {
    if (clang_version(wanted)) return wanted;
    return Error(ErrorCode::NotFound, "no compiler " + wanted);
  }
  for (const char* each : {"clang++-22", "clang++", "clang++-21", "clang++-20", "clang++-19",
                           "clang++-18", "clang++-17", "clang++-16"}) {
    if (clang_version(each).value_or(0) >= kClangVersionMin) return std::string(each);
  }
  return Error(ErrorCode::NotFound, "no clang++ of version " + std::to_string(kClangVersionMin) +
                                        " or later was found; " + kHowToInstall);
}

// Whether the compiler can make any module at all: it has a linker, a C and a C++ library for Wasm.
bool can_build_for_wasm(const std::string& compiler) {
  const ScratchFolder scratch;
  if (scratch.path().empty()) return true;  // Nothing is known; the compiler's own message stands.
  const std::string source = (scratch.path() / "probe.cpp").string();
  std::FILE* file = std::fopen(source.c_str(), "w");
  if (file == nullptr) return true;
  std::fputs("#include <string>\nstd::string text(1000, 'a');\nint main() { return text[0]; }\n",
             file);
  std::fclose(file);
  const Result<ProcessEnd> end =
      run_process({compiler, "--target=wasm32-wasi", "-fno-exceptions", "-std=c++20", source, "-o",
                   (scratch.path() / "probe.wasm").string()},
                  ProcessOutput::Hide);
  return end.ok() && end.value().exit_code == 0;
}

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
  std::vector<std::string> line = {compiler, "@" + sdk.flags_file, "-mexec-model=reactor",
                                   "-I" + sdk.include_folder};
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
  Result<std::string> executable = executable_path();
  Result<SdkLocation> sdk = find_sdk(executable.ok() ? executable.value() : "", QUIRE_SOURCE_DIR);
  if (!sdk.ok()) return fail(ExitCode::Missing, std::string(sdk.error().message()));
  Result<std::string> compiler = find_compiler(options.compiler);
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
  if (!can_build_for_wasm(compiler.value())) {
    return fail(ExitCode::Missing,
                compiler.value() + " lacks the linker or the libraries for Wasm; " + kHowToInstall);
  }
  return fail(ExitCode::Failed, "the compiler found errors; " + output + " was not made");
}

}  // namespace quire
