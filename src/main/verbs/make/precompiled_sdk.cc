#include "main/verbs/make/precompiled_sdk.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "main/verbs/shared/artifact_cache.h"
#include "main/verbs/shared/process.h"

namespace quire {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kHeaderBytesMax = 4u << 20;
constexpr std::size_t kSdkEntryCountMax = 6;  // Some 60 MB each.
constexpr std::uint64_t kSdkFileBytesMax = 16u << 20;
constexpr const char* kSdkFolder = "precompiled";
constexpr const char* kHeaderFile = "quire.pch";
constexpr const char* kObjectFile = "quire.o";

// The program's own code is not optimized, so that it compiles in a fraction of a second; the code
// of the SDK is, once.
constexpr const char* kProgramLevel[] = {"-O0", "-fno-lto"};
constexpr const char* kSdkLevel = "-O1";

// Names the header: of `quire build` alone, or of `quire run` with the code of its functions beside
// it.
enum class Kind : std::uint8_t { Header, HeaderAndObject };

struct Recipe {
  Kind kind;
  const std::string& compiler;
  const SdkLocation& sdk;
  std::vector<std::string> flags;
};

Result<std::string> output_of(const std::vector<std::string>& command) {
  ProcessEnd end = TRY(run_process(command, ProcessOutput::Return));
  if (end.exit_code == 0) return std::move(end.output);
  return Error(ErrorCode::Io, command[0] + " ended with " + std::to_string(end.exit_code));
}

Result<void> run_quietly(const std::vector<std::string>& command) {
  return output_of(command).ok() ? Result<void>()
                                 : Error(ErrorCode::Io, command[0] + " could not compile the SDK");
}

// Paths of the SDK's headers, in one order.
std::vector<fs::path> headers_of(const SdkLocation& sdk) {
  std::vector<fs::path> paths;
  std::error_code ignored;
  for (const std::string& folder : sdk.include_folders()) {
    for (const auto& each : fs::recursive_directory_iterator(folder, ignored)) {
      if (each.is_regular_file(ignored)) paths.push_back(each.path());
    }
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

Result<std::string> name_of_entry(const Recipe& recipe) {
  // The output of --version has the installed folder, in which two builds of one version differ.
  std::string text = "3\n" + recipe.compiler + "\n" +
                     TRY(output_of({recipe.compiler, "--version"})) + kSdkLevel +
                     std::to_string(static_cast<int>(recipe.kind));
  for (const std::string& each : recipe.flags) text += "\n" + each;
  for (const fs::path& each : headers_of(recipe.sdk)) {
    const std::string content = TRY(read_file(each.string(), kHeaderBytesMax));
    text += "\n" + each.string() + " " + std::to_string(content.size()) + "\n" + content;
  }
  return entry_name(text);
}

// Returns the files that the compiler read outside of the SDK. The name of the entry has the bytes
// of the SDK.
std::vector<Input> inputs_outside(const SdkLocation& sdk, const std::string& dependencies) {
  std::vector<Input> inputs;
  const std::vector<std::string> folders = sdk.include_folders();
  for (std::string& path : paths_of_dependencies(dependencies)) {
    const bool is_of_sdk =
        std::any_of(folders.begin(), folders.end(),
                    [&](const std::string& each) { return path.starts_with(each); });
    if (!is_of_sdk) {
      inputs.push_back({.path = std::move(path), .test = InputTest::Time});
    }
  }
  return inputs;
}

// In two steps: the header must be read with the program's level, and optimized with another.
Result<void> compile_object(const fs::path& folder, const Recipe& recipe) {
  const std::string bitcode = (folder / "quire.bc").string();
  std::vector<std::string> line = {recipe.compiler};
  line.insert(line.end(), recipe.flags.begin(), recipe.flags.end());
  line.insert(line.end(), {"-Xclang", "-disable-O0-optnone", "-emit-llvm", "-c",
                           (folder / kHeaderFile).string(), "-o", bitcode});
  TRY(run_quietly(line));
  TRY(run_quietly({recipe.compiler, "--target=wasm32-wasi", "-Wno-deprecated", kSdkLevel, "-c",
                   bitcode, "-o", (folder / kObjectFile).string()}));
  std::error_code ignored;
  fs::remove(bitcode, ignored);
  return {};
}

// Compiles into `folder`.
Result<std::vector<Input>> compile_into(const fs::path& folder, const Recipe& recipe) {
  const std::string dependencies = (folder / "dependencies").string();
  std::vector<std::string> line = {recipe.compiler};
  line.insert(line.end(), recipe.flags.begin(), recipe.flags.end());
  line.insert(line.end(), {"-fpch-instantiate-templates", "-Xclang", "-fno-pch-timestamp", "-MD",
                           "-MF", dependencies, "-x", "c++-header",
                           (fs::path(recipe.sdk.include_folder) / "quire/quire.h").string(), "-o",
                           (folder / kHeaderFile).string()});
  if (recipe.kind == Kind::HeaderAndObject) line.push_back("-fpch-codegen");
  TRY(run_quietly(line));
  if (recipe.kind == Kind::HeaderAndObject) TRY(compile_object(folder, recipe));
  const std::string inputs = TRY(read_file(dependencies, kHeaderBytesMax));
  std::error_code ignored;
  fs::remove(dependencies, ignored);
  return inputs_outside(recipe.sdk, inputs);
}

Result<fs::path> find_or_make(const Recipe& recipe, const std::string& cache_folder,
                              void (*notice)()) {
  const ArtifactCache cache(cache_folder, kSdkFolder, kSdkEntryCountMax);
  const std::string name = TRY(name_of_entry(recipe));
  return cache.find_or_make(name, [&](const fs::path& folder) {
    notice();
    return compile_into(folder, recipe);
  });
}

// The flags of `quire build` for a source, without those for the linker.
Result<std::vector<std::string>> source_flags(const SdkLocation& sdk) {
  std::ifstream file(sdk.flags_file);
  if (!file) return Error(ErrorCode::Io, sdk.flags_file + " cannot be read");
  std::vector<std::string> flags;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && !line.starts_with("-Wl,")) flags.push_back(line);
  }
  for (const std::string& each : sdk.include_folders()) flags.push_back("-I" + each);
  return flags;
}

}  // namespace

bool includes_sdk(const std::string& source) {
  const Result<std::string> text = read_file(source, kSdkFileBytesMax);
  if (!text.ok()) return false;
  for (const char* each : {"\"quire/quire.h\"", "<quire/quire.h>"}) {
    if (text.value().find(each) != std::string::npos) return true;
  }
  return false;
}

Result<std::vector<std::string>> quick_compile_flags(const SdkLocation& sdk) {
  std::vector<std::string> flags = TRY(source_flags(sdk));
  flags.insert(flags.end(), std::begin(kProgramLevel), std::end(kProgramLevel));
  return flags;
}

Result<PrecompiledSdk> precompiled_sdk(const std::string& compiler, const SdkLocation& sdk,
                                       const std::string& cache_folder, void (*notice)()) {
  const Recipe recipe{Kind::HeaderAndObject, compiler, sdk, TRY(quick_compile_flags(sdk))};
  const fs::path entry = TRY(find_or_make(recipe, cache_folder, notice));
  return PrecompiledSdk{(entry / kHeaderFile).string(), (entry / kObjectFile).string()};
}

Result<std::string> precompiled_header(const std::string& compiler, const SdkLocation& sdk,
                                       const std::string& cache_folder, void (*notice)()) {
  const Recipe recipe{Kind::Header, compiler, sdk, TRY(source_flags(sdk))};
  return (TRY(find_or_make(recipe, cache_folder, notice)) / kHeaderFile).string();
}

}  // namespace quire
