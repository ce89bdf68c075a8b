#include "main/commands/precompiled_sdk.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <span>
#include <sstream>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "base/sha256.h"
#include "main/commands/process.h"

namespace quire {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kHeaderBytesMax = 4u << 20;
constexpr std::size_t kEntryCountMax = 6;  // Some 60 MB each.
constexpr std::uint64_t kSourceBytesMax = 16u << 20;
constexpr std::chrono::hours kTemporaryAgeMax{1};
constexpr const char* kFolder = "precompiled";
constexpr const char* kHeaderFile = "quire.pch";
constexpr const char* kObjectFile = "quire.o";
constexpr const char* kInputsFile = "inputs";
constexpr const char* kTemporary = ".tmp-";

// The program's own code is not optimized, so that it compiles in a fraction of a second; the code
// of the SDK is, once.
constexpr const char* kProgramLevel[] = {"-O0", "-fno-lto"};
constexpr const char* kSdkLevel = "-O1";

// Which header: of `quire build` alone, or of `quire run` with the code of its functions beside it.
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
  for (const auto& each : fs::recursive_directory_iterator(sdk.include_folder, ignored)) {
    if (each.is_regular_file(ignored)) paths.push_back(each.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

Result<std::string> name_of_entry(const Recipe& recipe) {
  // The installed folder tells two builds of one version apart.
  std::string text = "2\n" + recipe.compiler + "\n" +
                     TRY(output_of({recipe.compiler, "--version"})) + kSdkLevel +
                     std::to_string(static_cast<int>(recipe.kind));
  for (const std::string& each : recipe.flags) text += "\n" + each;
  for (const fs::path& each : headers_of(recipe.sdk)) {
    const std::string content = TRY(read_file(each.string(), kHeaderBytesMax));
    text += "\n" + each.string() + " " + std::to_string(content.size()) + "\n" + content;
  }
  return hex(sha256(std::as_bytes(std::span(text)))).substr(0, 32);
}

// A line for each file that the header was made of: its size, its time and its path.
std::string stamp_of(const std::string& path) {
  std::error_code failure;
  const std::uint64_t bytes = fs::file_size(path, failure);
  const auto time = fs::last_write_time(path, failure).time_since_epoch().count();
  return failure ? "" : std::to_string(bytes) + " " + std::to_string(time) + " " + path + "\n";
}

// Of the dependencies that the compiler wrote for make: those outside of the SDK, whose bytes are in
// the name of the entry.
std::string stamps_of(const std::string& dependencies, const SdkLocation& sdk) {
  std::istringstream words(dependencies);
  std::string out;
  for (std::string word; words >> word;) {
    const bool is_path = word != "\\" && !word.ends_with(':');
    if (is_path && !word.starts_with(sdk.include_folder)) out += stamp_of(word);
  }
  return out;
}

bool inputs_are_unchanged(const fs::path& entry) {
  std::ifstream file(entry / kInputsFile);
  if (!file) return false;
  std::string line;
  while (std::getline(file, line)) {
    const std::size_t first = line.find(' ');
    const std::size_t second = first == std::string::npos ? first : line.find(' ', first + 1);
    if (second == std::string::npos || stamp_of(line.substr(second + 1)) != line + "\n") {
      return false;
    }
  }
  return true;
}

// Under another name first, so that nobody finds half of it.
void remove_entry(const fs::path& entry) {
  std::error_code ignored;
  std::string doomed = entry.string() + kTemporary + "XXXXXX";
  if (mkdtemp(doomed.data()) == nullptr) return;
  fs::rename(entry, fs::path(doomed), ignored);
  fs::remove_all(doomed, ignored);
}

// What was not used for longest goes, and what processes left that were ended.
void make_room(const fs::path& folder) {
  std::error_code ignored;
  std::vector<std::pair<fs::file_time_type, fs::path>> entries;
  for (const auto& each : fs::directory_iterator(folder, ignored)) {
    const fs::file_time_type time = fs::last_write_time(each.path(), ignored);
    if (each.path().filename().string().find(kTemporary) == std::string::npos) {
      entries.emplace_back(time, each.path());
    } else if (fs::file_time_type::clock::now() - time > kTemporaryAgeMax) {
      fs::remove_all(each.path(), ignored);
    }
  }
  std::sort(entries.begin(), entries.end(), std::greater());
  for (std::size_t i = kEntryCountMax; i < entries.size(); ++i) remove_entry(entries[i].second);
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

// Compiles into `folder`, which no other process knows yet.
Result<void> compile_into(const fs::path& folder, const Recipe& recipe) {
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
  std::ofstream(folder / kInputsFile) << stamps_of(inputs, recipe.sdk);
  std::error_code ignored;
  fs::remove(dependencies, ignored);
  return {};
}

Result<void> make_entry(const fs::path& entry, const Recipe& recipe) {
  std::string made = entry.string() + kTemporary + "XXXXXX";
  if (mkdtemp(made.data()) == nullptr) return Error(ErrorCode::Io, made + " cannot be made");
  std::error_code ignored;
  Result<void> compiled = compile_into(made, recipe);
  std::error_code failure;
  if (compiled.ok()) fs::rename(made, entry, failure);
  if (!compiled.ok() || failure) fs::remove_all(made, ignored);
  if (!compiled.ok()) return compiled;
  // If another process was faster, its entry is there and as good.
  if (failure && !fs::exists(entry / kInputsFile, ignored)) {
    return Error(ErrorCode::Io, entry.string() + ": " + failure.message());
  }
  return {};
}

// The folder of the entry, which is made if it is missing or if the system's headers have changed.
Result<fs::path> find_or_make_entry(const Recipe& recipe, const std::string& cache_folder,
                                    void (*notice)()) {
  if (cache_folder.empty()) return Error(ErrorCode::NotFound, "there is no folder for caches");
  const fs::path folder = fs::path(cache_folder) / kFolder;
  std::error_code failure;
  fs::create_directories(folder, failure);
  if (failure) return Error(ErrorCode::Io, folder.string() + ": " + failure.message());
  const fs::path entry = folder / TRY(name_of_entry(recipe));
  if (inputs_are_unchanged(entry)) {
    fs::last_write_time(entry, fs::file_time_type::clock::now(), failure);  // It was used.
    return entry;
  }
  if (fs::exists(entry, failure)) remove_entry(entry);
  notice();
  TRY(make_entry(entry, recipe));
  make_room(folder);
  return entry;
}

// The flags of `quire build` for a source, without those for the linker.
Result<std::vector<std::string>> source_flags(const SdkLocation& sdk) {
  std::ifstream file(sdk.flags_file);
  if (!file) return Error(ErrorCode::Io, sdk.flags_file + " cannot be read");
  std::vector<std::string> flags;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && !line.starts_with("-Wl,")) flags.push_back(line);
  }
  flags.push_back("-I" + sdk.include_folder);
  return flags;
}

}  // namespace

bool includes_sdk(const std::string& source) {
  const Result<std::string> text = read_file(source, kSourceBytesMax);
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
  const fs::path entry = TRY(find_or_make_entry(recipe, cache_folder, notice));
  return PrecompiledSdk{(entry / kHeaderFile).string(), (entry / kObjectFile).string()};
}

Result<std::string> precompiled_header(const std::string& compiler, const SdkLocation& sdk,
                                       const std::string& cache_folder, void (*notice)()) {
  const Recipe recipe{Kind::Header, compiler, sdk, TRY(source_flags(sdk))};
  return (TRY(find_or_make_entry(recipe, cache_folder, notice)) / kHeaderFile).string();
}

}  // namespace quire
