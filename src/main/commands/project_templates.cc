#include "main/commands/project_templates.h"

#include <project_texts.h>

#include <span>

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

constexpr ProjectTemplate kRustAnswer = {"", project_texts::kRustAnswer, "",
                                         "--prompt \"What is a page table?\""};
constexpr ProjectTemplate kRustTemplates[] = {
    {"chat", project_texts::kRustChat, "", "--system \"You are a poet.\""},
    {"constrained", project_texts::kRustConstrained, "", "--text \"Jo is a carpenter of 30.\""},
};

std::span<const ProjectTemplate> templates_of(ProjectLanguage language) {
  if (language == ProjectLanguage::Rust) return kRustTemplates;
  return kTemplates;
}

constexpr ProjectTexts kCppTexts = {.main_file = "main.cpp",
                                    .readme = project_texts::kReadme,
                                    .makefile = project_texts::kMakefile,
                                    .ignored = "*.wasm\ncompile_flags.txt\n",
                                    .manifest = {}};
constexpr ProjectTexts kRustTexts = {.main_file = "src/main.rs",
                                     .readme = project_texts::kRustReadme,
                                     .makefile = project_texts::kRustMakefile,
                                     .ignored = "*.wasm\n/target\n",
                                     .manifest = project_texts::kRustManifest};

}  // namespace

const ProjectTemplate* find_template(ProjectLanguage language, std::string_view name) {
  if (name.empty()) return language == ProjectLanguage::Rust ? &kRustAnswer : &kAnswer;
  for (const ProjectTemplate& each : templates_of(language)) {
    if (each.name == name) return &each;
  }
  return nullptr;
}

std::vector<std::string> template_names(ProjectLanguage language) {
  std::vector<std::string> names;
  for (const ProjectTemplate& each : templates_of(language)) names.emplace_back(each.name);
  return names;
}

const ProjectTexts& project_texts_of(ProjectLanguage language) {
  return language == ProjectLanguage::Rust ? kRustTexts : kCppTexts;
}

}  // namespace quire
