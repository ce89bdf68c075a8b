#pragma once
// The texts of the projects that `quire new` makes. In each, NAME is the project's name, QUIRE_PATH the
// program that made it, RUN_FLAGS and EXAMPLE_ARGUMENTS those of its template.
//
// Thread   any; constants.
#include <string>
#include <string_view>
#include <vector>

namespace quire {

struct ProjectTemplate {
  std::string_view name;       // Of --template.
  std::string_view main;       // main.cpp
  std::string_view run_flags;  // That `quire run` needs for it; empty, or ends the words.
  std::string_view example_arguments;
};

// Null where there is none of that name; the one that is made without --template for "".
const ProjectTemplate* find_template(std::string_view name);

std::vector<std::string> template_names();

std::string_view project_readme();
std::string_view project_makefile();

}  // namespace quire
