// The verbs that make programs.
#include "cli/verb.h"

namespace quire::cli {

Verb add_build(CLI::App& app) {
  auto options = std::make_shared<BuildOptions>();
  CLI::App* verb = app.add_subcommand(
      "build", "Make a module of a program (an inferlet): C++, Rust or a script");
  verb->add_option(
          "FILE", options->sources,
          "C++ sources, or the folder of a Cargo project (Rust), which are compiled; or a script, "
          ".js, .mjs, .ts or .mts, with what it imports by relative paths, which needs no compiler")
      ->required();
  verb->add_option(
          "-o,--output", options->output,
          "The module; where not given, FILE with .wasm, or the program's name in the folder")
      ->type_name("FILE.wasm");
  verb->add_option("--compiler", options->compiler, "A clang++ that knows wasm32-wasi")
      ->type_name("PATH");
  verb->add_option("--sdk", options->sdk, "The C++ SDK; what lies beside quire where not given")
      ->type_name("FOLDER")
      ->envname("QUIRE_SDK");
  verb->add_flag("--debug", options->debug,
                 "Without optimizing; traps in quire run report file and line");
  verb->add_flag("--verbose", options->verbose, "Print the compiler's command line");
  verb->footer(
      R"(What follows "--" goes to the compiler, or to cargo build. Rust needs cargo, and once:
rustup target add wasm32-wasip1

Examples:
  quire build program.cpp -o program.wasm
  quire build program.cpp --debug -- -DTRACE=1
  quire build my_project -o program.wasm
  quire build agent.ts -o agent.wasm)");
  return {verb, [options]() -> Result<Request> { return Request(*options); }};
}

Verb add_new(CLI::App& app) {
  auto options = std::make_shared<NewOptions>();
  CLI::App* verb = app.add_subcommand("new", "Make a project that builds and runs");
  verb->add_option("NAME", options->name, "Letters, digits, - and _; a letter first")->required();
  verb->add_option("--in", options->parent,
                   "Where its folder is made; the current folder where not given")
      ->type_name("FOLDER");
  verb->add_option("--language", options->language, "In which the program is written")
      ->type_name("cpp|rust|js|ts")
      ->check(CLI::IsMember({"cpp", "rust", "js", "ts"}))
      ->capture_default_str();
  verb->add_option(
          "--template", options->project_template,
          "What the program does: chat (a conversation), agent (a model that fetches pages), "
          "search (several answers, judged side by side), constrained (JSON that follows a "
          "schema); where not given, it answers a prompt. In Rust: chat and constrained")
      ->type_name("chat|agent|search|constrained");
  verb->add_option("--sdk", options->sdk, "The C++ SDK; what lies beside quire where not given")
      ->type_name("FOLDER")
      ->envname("QUIRE_SDK");
  verb->footer(
      "Examples:\n  quire new hello\n  quire new reader --template constrained\n  quire new hello "
      "--language rust\n  quire new reader --language ts --template agent");
  return {verb, [options]() -> Result<Request> { return Request(*options); }};
}

}  // namespace quire::cli
