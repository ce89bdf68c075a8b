#include "main/commands/program_files.h"

#include <filesystem>
#include <span>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "base/guest_name.h"

namespace quire {
namespace {

constexpr const char* kModuleEnding = ".wasm";

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

Result<ProgramFiles> find_programs(const std::vector<std::string>& paths) {
  ProgramFiles files;
  for (const std::string& each : paths) {
    std::error_code failed;
    if (!std::filesystem::is_directory(each, failed)) {
      TRY(File::open(each));
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
      return Error(ErrorCode::NotFound, each + " holds no file that ends with " + kModuleEnding);
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
