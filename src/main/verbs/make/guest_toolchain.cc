#include "main/verbs/make/guest_toolchain.h"

#include <charconv>
#include <cstdio>
#include <optional>
#include <system_error>

#include "main/verbs/shared/process.h"
#include "main/verbs/shared/scratch_folder.h"

namespace quire {
namespace {

constexpr int kClangVersionMin = 16;  // The first whose coroutines and C++20 library suffice.

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

}  // namespace

Result<std::string> find_guest_compiler(const std::string& wanted) {
  if (!wanted.empty()) {
    if (clang_version(wanted)) return wanted;
    return Error(ErrorCode::NotFound, "no compiler " + wanted);
  }
  for (const char* each : {"clang++-22", "clang++", "clang++-21", "clang++-20", "clang++-19",
                           "clang++-18", "clang++-17", "clang++-16"}) {
    if (clang_version(each).value_or(0) >= kClangVersionMin) return std::string(each);
  }
  return Error(ErrorCode::NotFound, "no clang++ of version " + std::to_string(kClangVersionMin) +
                                        " or later was found; install it with: apt-get install " +
                                        kGuestPackages);
}

std::vector<std::string> guest_command(const std::string& compiler, const SdkLocation& sdk) {
  std::vector<std::string> command = {compiler, "@" + sdk.flags_file, "-mexec-model=reactor"};
  for (const std::string& each : sdk.include_folders()) command.push_back("-I" + each);
  return command;
}

bool can_build_for_wasm(const std::string& compiler, const SdkLocation* sdk) {
  const ScratchFolder scratch;
  if (scratch.path().empty()) return true;  // Nothing is known; the compiler's own message stands.
  const std::string source = (scratch.path() / "probe.cpp").string();
  std::FILE* file = std::fopen(source.c_str(), "w");
  if (file == nullptr) return true;
  std::fputs("#include <string>\nstd::string text(1000, 'a');\nint main() { return text[0]; }\n",
             file);
  std::fclose(file);
  std::vector<std::string> line = sdk != nullptr
                                      ? guest_command(compiler, *sdk)
                                      : std::vector<std::string>{compiler, "--target=wasm32-wasi",
                                                                 "-fno-exceptions", "-std=c++20"};
  line.insert(line.end(), {source, "-o", (scratch.path() / "probe.wasm").string()});
  const Result<ProcessEnd> end = run_process(line, ProcessOutput::Hide);
  return end.ok() && end.value().exit_code == 0;
}

}  // namespace quire
