#include "main/verbs/make/project_folder.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "main/verbs/make/cargo_project.h"
#include "main/verbs/make/script_program.h"
#include "main/verbs/make/source_program.h"

namespace quire {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMainName = "main";
constexpr std::size_t kNamedCountMax = 8;  // Of a folder's programs, in an error.

bool is_file_source(const fs::path& path) {
  return is_cpp_source(path.string()) || is_script_source(path.string());
}

// The names in the folder for which `is_wanted` is true, sorted.
template <typename Wanted>
std::vector<std::string> names_in(const std::string& folder, Wanted is_wanted) {
  std::vector<std::string> names;
  std::error_code failed;
  for (const auto& each : fs::directory_iterator(folder, failed)) {
    if (is_wanted(each)) names.push_back(each.path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

std::vector<std::string> main_names_in(const std::string& folder) {
  return names_in(folder, [](const fs::directory_entry& each) {
    std::error_code ignored;
    return each.path().stem() == kMainName && is_file_source(each.path()) &&
           each.is_regular_file(ignored);
  });
}

std::vector<std::string> program_names_in(const std::string& folder) {
  return names_in(folder, [](const fs::directory_entry& each) {
    if (is_folder(each.path().string())) return is_project_folder(each.path().string());
    return each.path().extension() == ".wasm" || is_file_source(each.path());
  });
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t at = 0; at < std::min(names.size(), kNamedCountMax); ++at) {
    text += (text.empty() ? "" : ", ") + names[at];
  }
  if (names.size() <= kNamedCountMax) return text;
  return text + " and " + std::to_string(names.size() - kNamedCountMax) + " more";
}

}  // namespace

bool is_folder(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

bool is_project_folder(const std::string& path) {
  return is_cargo_project(path) || !main_names_in(path).empty();
}

Result<std::string> main_source_in(const std::string& folder) {
  const std::vector<std::string> names = main_names_in(folder);
  const auto in_folder = [&](const std::string& name) {
    return (fs::path(folder) / name).string();
  };
  if (names.size() == 1) return in_folder(names[0]);
  if (!names.empty()) {
    return Error(ErrorCode::InvalidArgument, folder + " holds several programs: " + listed(names) +
                                                 "; name one, as in " + in_folder(names[0]));
  }
  const std::vector<std::string> programs = program_names_in(folder);
  return Error(ErrorCode::InvalidArgument,
               folder + " is a folder without Cargo.toml, main.ts, main.js or main.cpp" +
                   (programs.empty() ? ", and holds no other program"
                                     : "; it holds " + listed(programs) + ": name one, as in " +
                                           in_folder(programs[0])));
}

}  // namespace quire
