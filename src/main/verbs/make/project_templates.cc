#include "main/verbs/make/project_templates.h"

#include <project_texts.h>

#include <iterator>
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
    {"chat", project_texts::kRustChat, "", kTemplates[0].example_arguments},
    {"agent", project_texts::kRustAgent, kTemplates[1].run_flags, kTemplates[1].example_arguments},
    {"search", project_texts::kRustSearch, "", kTemplates[2].example_arguments},
    {"constrained", project_texts::kRustConstrained, "", kTemplates[3].example_arguments},
};

constexpr ProjectTemplate kJavaScriptAnswer = {"", project_texts::kJavaScriptAnswer, "",
                                               kAnswer.example_arguments};
constexpr ProjectTemplate kJavaScriptTemplates[] = {
    {"chat", project_texts::kJavaScriptChat, "", kTemplates[0].example_arguments},
    {"agent", project_texts::kJavaScriptAgent, kTemplates[1].run_flags,
     kTemplates[1].example_arguments},
    {"search", project_texts::kJavaScriptSearch, "", kTemplates[2].example_arguments},
    {"constrained", project_texts::kJavaScriptConstrained, "", kTemplates[3].example_arguments},
};

constexpr ProjectTemplate kTypeScriptAnswer = {"", project_texts::kTypeScriptAnswer, "",
                                               kAnswer.example_arguments};
constexpr ProjectTemplate kTypeScriptTemplates[] = {
    {"chat", project_texts::kTypeScriptChat, "", kTemplates[0].example_arguments},
    {"agent", project_texts::kTypeScriptAgent, kTemplates[1].run_flags,
     kTemplates[1].example_arguments},
    {"search", project_texts::kTypeScriptSearch, "", kTemplates[2].example_arguments},
    {"constrained", project_texts::kTypeScriptConstrained, "", kTemplates[3].example_arguments},
};

constexpr ProjectFile kCppFilled[] = {{"README.md", project_texts::kReadme},
                                      {"Makefile", project_texts::kMakefile}};
constexpr ProjectFile kCppCopied[] = {{".gitignore", "*.wasm\ncompile_flags.txt\n"}};
constexpr ProjectFile kRustFilled[] = {{"README.md", project_texts::kRustReadme},
                                       {"Makefile", project_texts::kRustMakefile},
                                       {"Cargo.toml", project_texts::kRustManifest}};
constexpr ProjectFile kRustCopied[] = {{".gitignore", "*.wasm\n/target\n/.quire\n"}};
constexpr ProjectFile kScriptFilled[] = {{"README.md", project_texts::kScriptReadme},
                                         {"Makefile", project_texts::kScriptMakefile}};
constexpr ProjectFile kScriptIgnored = {".gitignore", "*.wasm\n"};
constexpr ProjectFile kTypes = {"types/quire.d.ts", project_texts::kTypes};
constexpr ProjectFile kRawTypes = {"types/quire_raw.d.ts", project_texts::kRawTypes};
constexpr ProjectFile kJavaScriptCopied[] = {
    kScriptIgnored, kTypes, kRawTypes, {"jsconfig.json", project_texts::kJavaScriptConfig}};
constexpr ProjectFile kTypeScriptCopied[] = {
    kScriptIgnored, kTypes, kRawTypes, {"tsconfig.json", project_texts::kTypeScriptConfig}};

struct Language {
  std::string_view name;  // Of --language.
  const ProjectTemplate& answer;
  std::span<const ProjectTemplate> templates;
  ProjectTexts texts;
};

// By ProjectLanguage.
constexpr Language kLanguages[] = {
    {"cpp", kAnswer, kTemplates, {"main.cpp", "compile_flags.txt", kCppFilled, kCppCopied}},
    {"rust", kRustAnswer, kRustTemplates, {"src/main.rs", "", kRustFilled, kRustCopied}},
    {"js",
     kJavaScriptAnswer,
     kJavaScriptTemplates,
     {"main.js", "jsconfig.json", kScriptFilled, kJavaScriptCopied}},
    {"ts",
     kTypeScriptAnswer,
     kTypeScriptTemplates,
     {"main.ts", "tsconfig.json", kScriptFilled, kTypeScriptCopied}},
};

const Language& row_of(ProjectLanguage language) {
  return kLanguages[static_cast<std::size_t>(language)];
}

}  // namespace

ProjectLanguage project_language(std::string_view name) {
  for (std::size_t i = 0; i < std::size(kLanguages); ++i) {
    if (kLanguages[i].name == name) return static_cast<ProjectLanguage>(i);
  }
  return ProjectLanguage::Cpp;
}

const ProjectTemplate* find_template(ProjectLanguage language, std::string_view name) {
  if (name.empty()) return &row_of(language).answer;
  for (const ProjectTemplate& each : row_of(language).templates) {
    if (each.name == name) return &each;
  }
  return nullptr;
}

std::vector<std::string> template_names(ProjectLanguage language) {
  std::vector<std::string> names;
  for (const ProjectTemplate& each : row_of(language).templates) names.emplace_back(each.name);
  return names;
}

const ProjectTexts& project_texts_of(ProjectLanguage language) {
  return row_of(language).texts;
}

}  // namespace quire
