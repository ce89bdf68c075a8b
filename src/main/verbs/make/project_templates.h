#pragma once
// The texts of the projects that `quire new` makes. In each, NAME is the project's name, QUIRE_PATH
// the program that made it, MAIN_FILE the program's source.
// EDITOR_FILE gives editors the types. RUN_FLAGS and EXAMPLE_ARGUMENTS are those of its template.
//
// Thread   any; constants.
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace quire {

struct ProjectTemplate {
  std::string_view name;       // Of --template.
  std::string_view main;       // The program's source.
  std::string_view run_flags;  // That `quire run` needs for it; empty, or ends the words.
  std::string_view example_arguments;
};

// The languages that projects are made in.
enum class ProjectLanguage : std::uint8_t { Cpp, Rust, JavaScript, TypeScript };

struct ProjectFile {
  std::string_view path;  // In the project's folder.
  std::string_view text;
};

// The parts that are the same for all projects of a language.
struct ProjectTexts {
  std::string_view main_file;           // Where the program's source is.
  std::string_view editor_file;         // Empty: the language has none.
  std::span<const ProjectFile> filled;  // The words above are placeholders in them.
  std::span<const ProjectFile> copied;  // Written as they are.
};

// C++ where there is none of that name (--language).
ProjectLanguage project_language(std::string_view name);

// Null where there is none of that name; the one that is made without --template for "".
const ProjectTemplate* find_template(ProjectLanguage language, std::string_view name);

std::vector<std::string> template_names(ProjectLanguage language);

const ProjectTexts& project_texts_of(ProjectLanguage language);

}  // namespace quire
