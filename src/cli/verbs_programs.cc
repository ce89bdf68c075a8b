// The verbs that make programs.
#include "cli/verb.h"

namespace quire::cli {
namespace {

constexpr Choice<const char*> kLanguages[] = {
    {"cpp", "cpp"}, {"rust", "rust"}, {"js", "js"}, {"ts", "ts"}};

Flag sdk(std::string& folder) {
  return Flag{"--sdk", "FOLDER", &folder, "The C++ SDK; what lies beside quire where not given"}
      .from("QUIRE_SDK");
}

}  // namespace

Verb add_build(CLI::App& app) {
  auto options = std::make_shared<BuildOptions>();
  Rows rows(app, "build", "Make a module of a program (an inferlet): C++, Rust or a script");
  rows.add({
      Flag{"FILE", "", &options->sources,
           "C++ sources, a script (.js, .mjs, .ts or .mts) with what it imports by relative paths, "
           "or the folder of a project. A project has Cargo.toml (Rust), main.ts, main.js or "
           "main.cpp"}
          .required(),
      {"-o,--output", "FILE.wasm", &options->output,
       "The module; if not given, FILE with .wasm, or the program's name in the folder"},
      {"--bin", "NAME", &options->bin,
       "Of a Cargo project with several programs: this one, and not that of default-run"},
      {"--compiler", "PATH", &options->compiler, "A clang++ that knows wasm32-wasi"},
      sdk(options->sdk),
      {"--debug", "", &options->debug,
       "Without optimizing; traps in quire run report file and line"},
      {"--verbose", "", &options->verbose, "Print the compiler's command line"},
  });
  return rows.verb(
      R"(What follows "--" goes to the compiler, or to cargo build. Rust needs cargo, and once:
rustup target add wasm32-wasip1

Examples:
  quire build program.cpp -o program.wasm
  quire build program.cpp --debug -- -DTRACE=1
  quire build my_project -o program.wasm
  quire build agent.ts -o agent.wasm)",
      options);
}

Verb add_new(CLI::App& app) {
  auto options = std::make_shared<NewOptions>();
  Rows rows(app, "new", "Make a project that builds and runs");
  rows.add({
      Flag{"NAME", "", &options->name, "Letters, digits, - and _; a letter first"}.required(),
      {"--in", "FOLDER", &options->parent,
       "Where its folder is made; the current folder where not given"},
      {"--language", "", one_of(options->language, "language", kLanguages),
       "In which the program is written"},
      {"--template", "chat|agent|search|constrained", &options->project_template,
       "What the program does. chat: a conversation. agent: a model that fetches pages. search: "
       "several answers, judged side by side. constrained: JSON that follows a schema. If not "
       "given, it answers a prompt"},
      sdk(options->sdk),
  });
  return rows.verb(R"(Examples:
  quire new hello
  quire new reader --template constrained
  quire new hello --language rust
  quire new reader --language ts --template agent)",
                   options);
}

}  // namespace quire::cli
