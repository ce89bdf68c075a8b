#include "main/commands/source_modules.h"

#include <algorithm>

#include "base/guest_name.h"
#include "base/utf8.h"
#include "main/commands/source_program.h"

namespace quire {

bool SourceModules::has_source(const std::vector<std::string>& paths) {
  return std::any_of(paths.begin(), paths.end(), is_cpp_source);
}

Result<std::vector<std::string>> SourceModules::build(const std::vector<std::string>& paths) {
  std::vector<std::string> modules;
  std::map<std::string, std::string> given;  // Files, by the names of their programs.
  for (const std::string& each : paths) {
    std::error_code ignored;
    const std::string name = std::filesystem::path(each).stem().string();
    const bool is_file = !std::filesystem::is_directory(each, ignored);
    const auto [at, is_new] = is_file ? given.emplace(name, each) : std::pair(given.end(), true);
    if (!is_new && at->second == each) continue;
    if (!is_new && (is_cpp_source(each) || is_cpp_source(at->second))) {
      return Error(ErrorCode::AlreadyExists, "two programs are named " + in_quotes(name) + ": " +
                                                 at->second + " and " + each);
    }
    if (!is_cpp_source(each)) {
      modules.push_back(each);
      continue;
    }
    TRY(check_guest_name(name, "program name"));
    if (folder_.empty()) return Error(ErrorCode::Io, "no folder for temporary files could be made");
    const std::string module = (folder_ / name).string() + ".wasm";
    exit_code_ = build_for_run(each, module);
    if (exit_code_ != 0) return Error(ErrorCode::InvalidArgument, each + " was not compiled");
    sources_.emplace(name, each);
    modules.push_back(module);
  }
  return modules;
}

}  // namespace quire
