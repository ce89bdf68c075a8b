#include "main/verbs/make/source_modules.h"

#include <algorithm>

#include "base/guest_name.h"
#include "base/utf8.h"
#include "main/verbs/make/program_files.h"
#include "main/verbs/make/script_program.h"
#include "main/verbs/make/source_program.h"

namespace quire {

namespace {

bool is_folder(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

// The paths, with the scripts of a folder after it. A folder without modules is left out then.
std::vector<std::string> with_scripts(const std::vector<std::string>& paths) {
  std::vector<std::string> all;
  for (const std::string& each : paths) {
    const std::vector<std::string> scripts =
        is_folder(each) ? scripts_in(each) : std::vector<std::string>();
    if (scripts.empty() || has_modules(each)) all.push_back(each);
    all.insert(all.end(), scripts.begin(), scripts.end());
  }
  return all;
}

}  // namespace

bool SourceModules::has_source(const std::vector<std::string>& paths) {
  return std::any_of(paths.begin(), paths.end(), [](const std::string& each) {
    return is_folder(each) ? !scripts_in(each).empty() : is_program_source(each);
  });
}

Result<std::vector<std::string>> SourceModules::build(const std::vector<std::string>& given_paths) {
  const std::vector<std::string> paths = with_scripts(given_paths);
  std::vector<std::string> modules;
  std::map<std::string, std::string> given;  // Files, by the names of their programs.
  for (const std::string& each : paths) {
    const std::string name = std::filesystem::path(each).stem().string();
    const bool is_file = !is_folder(each);
    const auto [at, is_new] = is_file ? given.emplace(name, each) : std::pair(given.end(), true);
    if (!is_new && at->second == each) continue;
    if (!is_new && (is_program_source(each) || is_program_source(at->second))) {
      return Error(ErrorCode::AlreadyExists, "two programs are named " + in_quotes(name) + ": " +
                                                 at->second + " and " + each);
    }
    if (!is_program_source(each)) {
      modules.push_back(each);
      continue;
    }
    TRY(check_guest_name(name, "program name"));
    if (folder_.empty()) return Error(ErrorCode::Io, "no folder for temporary files could be made");
    const std::string module = (folder_ / name).string() + ".wasm";
    exit_code_ = build_for_run(each, module);
    if (exit_code_ != 0) return Error(ErrorCode::InvalidArgument, each + " was not built");
    sources_.emplace(name, each);
    modules.push_back(module);
  }
  return modules;
}

}  // namespace quire
