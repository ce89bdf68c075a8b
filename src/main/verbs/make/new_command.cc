#include "main/verbs/make/new_command.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/result.h"
#include "base/utf8.h"
#include "cli/exit_code.h"
#include "cli/spelling.h"
#include "main/verbs/make/project_templates.h"
#include "main/verbs/make/rust_sdk_link.h"
#include "main/verbs/shared/output.h"
#include "main/verbs/shared/sdk_location.h"

namespace quire {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kNameBytesMax = 64;

bool is_letter(char each) {
  return (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z');
}

bool is_name(std::string_view name) {
  if (name.empty() || name.size() > kNameBytesMax || !is_letter(name[0])) return false;
  for (const char each : name) {
    if (!is_letter(each) && !(each >= '0' && each <= '9') && each != '_' && each != '-') {
      return false;
    }
  }
  return true;
}

// As the value of a variable in a Makefile.
std::string for_make(std::string_view path) {
  std::string out;
  for (const char each : path) {
    if (each == '$') out += '$';
    if (each == '#') out += '\\';
    out += each;
  }
  return out;
}

struct Project {
  std::string name;
  std::string executable;
  const ProjectTexts& texts;
  const ProjectTemplate& from;
};

std::string filled(std::string_view text, const Project& project) {
  const std::string flags(project.from.run_flags);
  const std::pair<std::string_view, std::string> places[] = {
      {"NAME", project.name},
      {"QUIRE_PATH", for_make(project.executable)},
      {"MAIN_FILE", std::string(project.texts.main_file)},
      {"EDITOR_FILE", std::string(project.texts.editor_file)},
      {"RUN_FLAGS-- ", flags + (flags.empty() ? "" : " ") + "-- "},
      {"RUN_FLAGS", flags},
      {"EXAMPLE_ARGUMENTS", std::string(project.from.example_arguments)}};
  std::string out;
  while (!text.empty()) {
    const auto found = std::find_if(std::begin(places), std::end(places), [&](const auto& place) {
      return text.starts_with(place.first);
    });
    if (found == std::end(places)) {
      out += text[0];
      text.remove_prefix(1);
    } else {
      out += found->second;
      text.remove_prefix(found->first.size());
    }
  }
  return out;
}

Result<void> write_file(const fs::path& path, const std::string& text) {
  std::error_code failure;
  fs::create_directories(path.parent_path(), failure);
  if (failure) return Error(ErrorCode::Io, path.string() + ": " + failure.message());
  std::FILE* file = std::fopen(path.c_str(), "wx");
  if (file == nullptr) {
    return Error(ErrorCode::Io, path.string() + ": " + std::strerror(errno));
  }
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (std::fclose(file) != 0 || !written) {
    return Error(ErrorCode::Io, path.string() + ": cannot be written");
  }
  return {};
}

// The flags that `quire build` gives to the compiler, one a line, as clangd reads them.
Result<std::string> editor_flags(const SdkLocation& sdk) {
  std::ifstream file(sdk.flags_file);
  if (!file) return Error(ErrorCode::Io, sdk.flags_file + " cannot be read");
  std::string out;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("-Wl,")) out += line + "\n";
  }
  for (const std::string& each : sdk.include_folders()) out += "-I" + each + "\n";
  return out;
}

Result<void> write_project(const fs::path& folder, ProjectLanguage language,
                           const std::string& name, const ProjectTemplate& from) {
  const ProjectTexts& texts = project_texts_of(language);
  const Project project{name, TRY(executable_path()), texts, from};
  TRY(write_file(folder / texts.main_file, filled(from.main, project)));
  for (const ProjectFile& each : texts.filled) {
    TRY(write_file(folder / each.path, filled(each.text, project)));
  }
  for (const ProjectFile& each : texts.copied) {
    TRY(write_file(folder / each.path, std::string(each.text)));
  }
  if (language == ProjectLanguage::Rust) TRY(link_rust_sdk(folder.string()));
  return {};
}

Result<void> write_editor_flags(const fs::path& folder, const std::string& given_sdk) {
  const SdkLocation sdk = TRY(find_sdk(given_sdk));
  return write_file(folder / "compile_flags.txt", TRY(editor_flags(sdk)));
}

// Only editors need it: without an SDK the project is there all the same.
void write_for_editors(const fs::path& folder, const std::string& given_sdk) {
  const Result<void> written = write_editor_flags(folder, given_sdk);
  if (written.ok()) return;
  warn("no compile_flags.txt was written: " + std::string(written.error().message()));
}

}  // namespace

int new_command(const cli::NewOptions& options) {
  using cli::ExitCode;
  if (!is_name(options.name)) {
    return fail(ExitCode::Usage, "\"" + options.name +
                                     "\" is not a name: letters, digits, '_' and '-', a letter "
                                     "first, at most " +
                                     std::to_string(kNameBytesMax));
  }
  const ProjectLanguage language = project_language(options.language);
  const ProjectTemplate* from = find_template(language, options.project_template);
  if (from == nullptr) {
    return fail(ExitCode::Usage,
                "no template " + in_quotes(options.project_template) +
                    " in this language; there are: " + cli::listed(template_names(language)));
  }
  const fs::path folder = fs::path(options.parent) / options.name;
  std::error_code failure;
  if (fs::exists(fs::symlink_status(folder, failure))) {
    return fail(ExitCode::Failed, folder.string() + " exists already");
  }
  if (!fs::create_directory(folder, failure)) {
    return fail(ExitCode::Failed, folder.string() + ": " + failure.message());
  }
  const Result<void> written = write_project(folder, language, options.name, *from);
  if (!written.ok()) return fail(ExitCode::Failed, std::string(written.error().message()));
  if (language == ProjectLanguage::Cpp) write_for_editors(folder, options.sdk);
  print(folder.string() + " is ready. Next:\n  cd " + folder.string() + "\n  make run\n");
  return cli::number(ExitCode::Ok);
}

}  // namespace quire
