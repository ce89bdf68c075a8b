#include "main/verbs/make/program_files.h"

#include "cli/spelling.h"
#include "main/verbs/make/project_folder.h"
#include "main/verbs/make/script_program.h"
#include "main/verbs/shared/shipped_endpoints.h"

#include <algorithm>
#include <filesystem>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "base/guest_name.h"

namespace quire {
namespace {

constexpr const char* kModuleEnding = ".wasm";

constexpr std::string_view kModuleStart{"\0asm", 4};

// The kinds of a file that is not a module, by its name.
std::string source_advice(const std::filesystem::path& path) {
  const std::string ending = path.extension().string();
  const std::string module = path.stem().string() + ".wasm";
  const bool is_cpp =
      ending == ".cpp" || ending == ".cc" || ending == ".cxx" || ending == ".c" || ending == ".C";
  if (is_cpp) {
    return path.string() + " is " + (ending == ".c" ? "C" : "C++") + " source; quire build " +
           path.string() + " -o " + module + " makes a module of it";
  }
  if (ending == ".wat") {
    return path.string() + " is a module as text; wat2wasm " + path.string() + " -o " + module +
           " makes a module of it";
  }
  if (ending == ".rs") {
    return path.string() +
           " is Rust source; a program is a Cargo project, of which quire build FOLDER makes a "
           "module (quire new NAME --language rust makes one; without the SDK: rustc --target "
           "wasm32-wasip1 -O " +
           path.string() + " -o " + module + ")";
  }
  if (is_script_source(path.string())) {
    return path.string() +
           " is a script, not a module; quire run, quire serve and quire build take it as it is";
  }
  if (ending == ".tsx" || ending == ".jsx") {
    return path.string() +
           " is a script with JSX, which is not supported; quire run takes .js, .mjs, .ts and .mts";
  }
  if (ending == ".cjs" || ending == ".cts") {
    return path.string() +
           " is a module of CommonJS, which is not supported; write it with import and export, and "
           "call it " +
           path.stem().string() + (ending == ".cts" ? ".ts" : ".js");
  }
  constexpr std::string_view kOthers[] = {".py", ".go", ".zig", ".rb", ".sh"};
  const bool is_other =
      std::find(std::begin(kOthers), std::end(kOthers), ending) != std::end(kOthers);
  return path.string() + " is not a Wasm module" +
         (is_other ? ": it is source, and a program is what a compiler makes of it"
                   : ": it does not begin with \"\\0asm\"") +
         " (quire build takes C++, JavaScript and TypeScript; other compilers for wasm32 make "
         "modules too)";
}

Result<void> add_file(const std::filesystem::path& path, ProgramFiles& files) {
  const std::string name =
      path.extension() == kModuleEnding ? path.stem().string() : path.filename().string();
  TRY(check_guest_name(name, "program name"));
  const auto [at, is_new] = files.emplace(name, path.string());
  if (is_new || at->second == path.string()) return {};
  return Error(ErrorCode::AlreadyExists,
               "two programs are named \"" + name + "\": " + at->second + " and " + path.string());
}

}  // namespace

Result<void> check_module_file(const std::string& path) {
  std::error_code failed;
  if (std::filesystem::is_directory(path, failed)) {
    return Error(ErrorCode::InvalidArgument, std::string(main_source_in(path).error().message()));
  }
  Result<File> opened = File::open(path);
  const bool may_be_name = !opened.ok() && opened.error().code() == ErrorCode::NotFound &&
                           path.find('/') == std::string::npos && !path.ends_with(kModuleEnding);
  if (may_be_name) {
    return Error(ErrorCode::NotFound, std::string(opened.error().message()) +
                                          cli::did_you_mean(path, shipped_program_names()) +
                                          "; a program is the file of a module, as in " + path +
                                          kModuleEnding +
                                          ", or the name of one that comes with quire (with "
                                          "--server one that the server knows)");
  }
  const File file = TRY(std::move(opened));
  if (file.bytes() == 0) return Error(ErrorCode::InvalidArgument, path + " is empty");
  std::string start(std::min<std::uint64_t>(file.bytes(), kModuleStart.size()), '\0');
  TRY(file.read(0, std::as_writable_bytes(std::span(start))));
  if (start == kModuleStart) return {};
  return Error(ErrorCode::InvalidArgument, source_advice(path));
}

bool has_modules(const std::string& folder) {
  std::error_code failed;
  for (const auto& each : std::filesystem::directory_iterator(folder, failed)) {
    if (each.path().extension() == kModuleEnding) return true;
  }
  return false;
}

Result<ProgramFiles> find_programs(const std::vector<std::string>& paths) {
  ProgramFiles files;
  for (const std::string& each : paths) {
    std::error_code failed;
    if (!std::filesystem::is_directory(each, failed)) {
      TRY(check_module_file(each));
      TRY(add_file(each, files));
      continue;
    }
    std::size_t found = 0;
    for (const auto& entry : std::filesystem::directory_iterator(each, failed)) {
      if (entry.path().extension() != kModuleEnding) continue;
      TRY(add_file(entry.path(), files));
      ++found;
    }
    if (failed) return Error(ErrorCode::Io, each + ": " + failed.message());
    if (found == 0) {
      return Error(
          ErrorCode::NotFound,
          each + " holds no file that ends with " + kModuleEnding +
              ", no script (.js, .mjs, .ts, .mts), and no folder of a project (Cargo.toml, or "
              "one source named main)");
    }
  }
  return files;
}

Result<std::vector<NamedProgram>> load_programs(const ProgramFiles& files,
                                                lifecycle::InstanceManager& manager) {
  std::vector<NamedProgram> programs;
  for (const auto& [name, path] : files) {
    const std::string bytes = TRY(read_file(path, kProgramBytesMax));
    const auto wasm = std::as_bytes(std::span(bytes));
    Result<lifecycle::ProgramId> loaded = manager.load_program(wasm);
    if (!loaded.ok()) return std::move(loaded).take_error().while_(path);
    programs.push_back({.name = name, .id = loaded.value(), .digest = sha256(wasm)});
  }
  return programs;
}

}  // namespace quire
