#include "main/verbs/make/source_modules.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/guest_name.h"
#include "base/utf8.h"
#include "main/verbs/make/cargo_project.h"
#include "main/verbs/make/program_files.h"
#include "main/verbs/make/project_folder.h"
#include "main/verbs/make/script_program.h"
#include "main/verbs/make/source_program.h"
#include "main/verbs/shared/scratch_folder.h"

namespace quire {

namespace {

// The scripts and the projects of a folder that is not itself a project.
std::vector<std::string> sources_in(const std::string& folder) {
  std::vector<std::string> sources = scripts_in(folder);
  std::vector<std::string> projects;
  std::error_code failed;
  for (const auto& each : std::filesystem::directory_iterator(folder, failed)) {
    if (is_project_folder(each.path().string())) projects.push_back(each.path().string());
  }
  std::ranges::sort(projects);
  sources.insert(sources.end(), projects.begin(), projects.end());
  return sources;
}

// Whether the folder of a project holds a module that `quire build` did not make of it.
bool has_other_modules(const std::string& project) {
  const std::string own = program_name_of(project) + ".wasm";
  std::error_code failed;
  for (const auto& each : std::filesystem::directory_iterator(project, failed)) {
    const std::filesystem::path& path = each.path();
    if (path.extension() == ".wasm" && path.filename() != own) return true;
  }
  return false;
}

// A project that is not Cargo's may hold further modules. Then all that it holds is meant.
bool is_folder_of_programs(const std::string& path) {
  if (!is_folder(path) || is_cargo_project(path)) return false;
  return !is_project_folder(path) || has_other_modules(path);
}

bool is_source(const std::string& path) {
  return is_program_source(path) && !is_folder_of_programs(path);
}

// The paths, with the sources of a folder after it. A folder without modules is left out then.
std::vector<std::string> with_sources(const std::vector<std::string>& paths) {
  std::vector<std::string> all;
  for (const std::string& each : paths) {
    const std::vector<std::string> sources =
        is_folder_of_programs(each) ? sources_in(each) : std::vector<std::string>();
    if (sources.empty() || has_modules(each)) all.push_back(each);
    all.insert(all.end(), sources.begin(), sources.end());
  }
  return all;
}

}  // namespace

bool SourceModules::has_source(const std::vector<std::string>& paths) {
  return std::any_of(paths.begin(), paths.end(), [](const std::string& each) {
    return is_folder_of_programs(each) ? !sources_in(each).empty() : is_source(each);
  });
}

Result<std::vector<std::string>> SourceModules::build(const std::vector<std::string>& given_paths) {
  const std::vector<std::string> paths = with_sources(given_paths);
  std::vector<std::string> modules;
  std::map<std::string, std::string> given;  // Files, by the names of their programs.
  for (const std::string& each : paths) {
    const std::string name = program_name_of(each);
    const bool is_file = !is_folder_of_programs(each);
    const auto [at, is_new] = is_file ? given.emplace(name, each) : std::pair(given.end(), true);
    if (!is_new && at->second == each) continue;
    if (!is_new && (is_source(each) || is_source(at->second))) {
      return Error(ErrorCode::AlreadyExists, "two programs are named " + in_quotes(name) + ": " +
                                                 at->second + " and " + each);
    }
    if (!is_source(each)) {
      modules.push_back(each);
      continue;
    }
    TRY(check_guest_name(name, "program name"));
    if (folder_.empty()) return no_scratch_folder();
    const std::string module = (folder_ / name).string() + ".wasm";
    exit_code_ = build_for_run(each, module);
    if (exit_code_ != 0) return Error(ErrorCode::InvalidArgument, each + " was not built");
    sources_.emplace(name, each);
    modules.push_back(module);
  }
  return modules;
}

}  // namespace quire
