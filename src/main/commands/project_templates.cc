#include "main/commands/project_templates.h"

#include <project_texts.h>

namespace quire {
namespace {

constexpr ProjectTemplate kAnswer = {"", project_texts::kAnswer, "",
                                     "--prompt \"What is a page table?\""};
constexpr ProjectTemplate kTemplates[] = {
    {"chat", project_texts::kChat, "", "--system \"You are a poet.\""},
    {"agent", project_texts::kAgent, "--allow-http en.wikipedia.org", "--turns 8"},
    {"search", project_texts::kSearch, "", "--n 8"},
    {"constrained", project_texts::kConstrained, "", "--text \"Jo is a carpenter of 30.\""},
};

}  // namespace

const ProjectTemplate* find_template(std::string_view name) {
  if (name.empty()) return &kAnswer;
  for (const ProjectTemplate& each : kTemplates) {
    if (each.name == name) return &each;
  }
  return nullptr;
}

std::vector<std::string> template_names() {
  std::vector<std::string> names;
  for (const ProjectTemplate& each : kTemplates) names.emplace_back(each.name);
  return names;
}

std::string_view project_readme() {
  return project_texts::kReadme;
}
std::string_view project_makefile() {
  return project_texts::kMakefile;
}

}  // namespace quire
