#include "main/verbs/make/cargo_project.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string_view>
#include <system_error>

#include "base/file.h"
#include "base/json.h"
#include "base/result.h"
#include "base/utf8.h"
#include "cli/exit_code.h"
#include "main/machine/folders.h"
#include "main/verbs/make/build_command.h"
#include "main/verbs/make/rust_sdk_link.h"
#include "main/verbs/shared/output.h"
#include "main/verbs/shared/process.h"
#include "main/verbs/shared/sdk_location.h"

namespace quire {
namespace {

namespace fs = std::filesystem;
using cli::ExitCode;

constexpr const char* kTarget = "wasm32-wasip1";
constexpr const char* kManifest = "Cargo.toml";

// rustup chooses a compiler by the folder in which it is called.
std::vector<std::string> in_folder(const std::string& folder, std::vector<std::string> words) {
  words.insert(words.begin(), {"env", "-C", folder});
  return words;
}

// `name` if it runs, or the one of rustup's folder.
std::string find_tool(const std::string& name) {
  const char* home = std::getenv("HOME");
  for (const std::string& each :
       {name, home == nullptr ? name : std::string(home) + "/.cargo/bin/" + name}) {
    const Result<ProcessEnd> end = run_process({each, "--version"}, ProcessOutput::Return);
    if (end.ok() && end.value().exit_code == 0) return each;
  }
  return "";
}

// The first line of what a command prints; empty where it fails.
std::string line_of(const std::vector<std::string>& command) {
  const Result<ProcessEnd> end = run_process(command, ProcessOutput::Return);
  if (!end.ok() || end.value().exit_code != 0) return "";
  return end.value().output.substr(0, end.value().output.find('\n'));
}

bool has_target(const std::string& folder, const std::string& compiler) {
  const fs::path libraries =
      line_of(in_folder(folder, {compiler, "--print", "target-libdir", "--target", kTarget}));
  std::error_code ignored;
  if (libraries.empty()) return false;
  for (const auto& each : fs::directory_iterator(libraries, ignored)) {
    const std::string name = each.path().filename().string();
    if (name.starts_with("libstd-") && name.ends_with(".rlib")) return true;
  }
  return false;
}

struct RustTools {
  std::string cargo;
  std::string compiler;
};

// A checkout can make the library for any compiler, also one that rustup does not know.
std::string setup_advice() {
  const std::string checkout = checkout_folder();
  if (checkout.empty()) return "";
  return "; without rustup: " + checkout + "/tools/setup.sh rust";
}

// NotFound says what to install.
Result<RustTools> find_tools(const std::string& folder) {
  constexpr const char* kAdvice =
      "rustup (https://rustup.rs), then: rustup target add wasm32-wasip1";
  RustTools tools;
  tools.cargo = find_tool("cargo");
  if (tools.cargo.empty()) {
    return Error(
        ErrorCode::NotFound,
        std::string("no cargo was found, which compiles Rust; install it with ") + kAdvice);
  }
  const char* variable = std::getenv("RUSTC");
  const std::string given = variable == nullptr ? "" : variable;
  const std::string usual = given.empty() ? find_tool("rustc") : given;
  // tools/build_rust_std.sh makes one there.
  const std::string made = given.empty() ? cache_folder() + "/rust-wasm/bin/rustc" : "";
  for (const std::string& each : {usual, made}) {
    if (each.empty() || !has_target(folder, each)) continue;
    tools.compiler = each;
    return tools;
  }
  if (usual.empty()) {
    return Error(ErrorCode::NotFound,
                 std::string("no rustc was found; install it with ") + kAdvice);
  }
  const std::string version = line_of(in_folder(folder, {usual, "--version"}));
  if (version.empty()) return Error(ErrorCode::NotFound, usual + " is not a compiler that runs");
  return Error(ErrorCode::NotFound, version + " (" + usual + ") lacks the standard library for " +
                                        kTarget + "; install it with: rustup target add " +
                                        kTarget + setup_advice());
}

std::vector<std::string> command_line(const CargoBuild& build, const RustTools& tools) {
  std::vector<std::string> line = {"RUSTC=" + tools.compiler,
                                   tools.cargo,
                                   "build",
                                   "--target",
                                   kTarget,
                                   "--message-format=json-render-diagnostics"};
  if (!build.debug) line.push_back("--release");
  if (build.quiet) line.push_back("--quiet");
  if (!build.bin.empty()) line.insert(line.end(), {"--bin", build.bin});
  line.insert(line.end(), build.flags.begin(), build.flags.end());
  return in_folder(build.project, std::move(line));
}

// The modules of the binaries that cargo made, of the lines of JSON that it prints.
std::vector<std::string> modules_in(const std::string& messages) {
  std::vector<std::string> modules;
  std::istringstream lines(messages);
  for (std::string line; std::getline(lines, line);) {
    const Result<Json> message = parse_json(line, "cargo");
    if (!message.ok() || !message.value().is_object()) continue;
    if (message.value().value("reason", "") != "compiler-artifact") continue;
    const auto executable = message.value().find("executable");
    if (executable == message.value().end() || !executable->is_string()) continue;
    modules.push_back(executable->get<std::string>());
  }
  return modules;
}

std::string trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return "";
  return std::string(text.substr(begin, text.find_last_not_of(" \t\r") + 1 - begin));
}

// The text in quotes at the beginning of a value of TOML; empty: there is none.
std::string quoted_value(const std::string& value) {
  if (value.empty() || (value[0] != '"' && value[0] != '\'')) return "";
  const std::size_t end = value.find(value[0], 1);
  return end == std::string::npos ? "" : value.substr(1, end - 1);
}

// The value of default-run in the manifest of the project, which cargo has checked when it built;
// empty: it has none.
std::string default_run_of(const std::string& project) {
  constexpr std::uint64_t kManifestBytesMax = 1u << 20;
  const Result<std::string> manifest =
      read_file((fs::path(project) / kManifest).string(), kManifestBytesMax);
  if (!manifest.ok()) return "";
  std::istringstream lines(manifest.value());
  bool is_of_package = false;
  for (std::string line; std::getline(lines, line);) {
    const std::string text = trimmed(line);
    if (text.starts_with('[')) {
      const std::size_t end = text.find(']');
      is_of_package = end != std::string::npos && trimmed(text.substr(1, end - 1)) == "package";
      continue;
    }
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) continue;
    const std::string key = trimmed(text.substr(0, equals));
    const bool is_it = key == (is_of_package ? "default-run" : "package.default-run");
    if (is_it) return quoted_value(trimmed(text.substr(equals + 1)));
  }
  return "";
}

Result<std::string> chosen_module(const CargoBuild& build, const std::string& messages) {
  std::vector<std::string> modules = modules_in(messages);
  std::ranges::sort(modules);  // cargo reports them in the order in which they were done.
  if (modules.size() == 1) return modules[0];
  if (modules.empty()) {
    return Error(ErrorCode::InvalidArgument,
                 build.project + " makes no program: it has neither src/main.rs nor [[bin]]");
  }
  const std::string wanted = default_run_of(build.project);
  std::string names;
  for (const std::string& each : modules) {
    if (fs::path(each).stem().string() == wanted) return each;
    names += (names.empty() ? "" : ", ") + fs::path(each).stem().string();
  }
  return Error(ErrorCode::InvalidArgument,
               build.project + " makes several programs: " + names + "; name one, as in --bin " +
                   fs::path(modules[0]).stem().string() + ", or as default-run in its Cargo.toml");
}

void print_line(const std::vector<std::string>& line) {
  for (const std::string& each : line) std::fprintf(stderr, "%s ", each.c_str());
  std::fputs("\n", stderr);
}

}  // namespace

Result<std::string> find_rust_compiler() {
  return TRY(find_tools(".")).compiler;
}

bool is_cargo_project(const std::string& path) {
  std::error_code ignored;
  return fs::is_regular_file(fs::path(path) / kManifest, ignored);
}

std::string no_cargo_project_text(const std::string& path) {
  return "--bin chooses a program of a Cargo project, and " + path + " is not a folder with " +
         kManifest;
}

int build_cargo_project(const CargoBuild& build) {
  const Result<RustTools> tools = find_tools(build.project);
  if (!tools.ok()) return fail(ExitCode::Missing, std::string(tools.error().message()));
  const Result<void> linked = link_rust_sdk_if_named(build.project);
  if (!linked.ok()) return fail(ExitCode::Missing, std::string(linked.error().message()));
  const std::vector<std::string> line = command_line(build, tools.value());
  if (build.verbose) print_line(line);
  const Result<ProcessEnd> end = run_process(line, ProcessOutput::ReturnOutput);
  if (!end.ok()) return fail(ExitCode::Missing, std::string(end.error().message()));
  if (end.value().exit_code != 0) {
    return fail(ExitCode::Failed, "cargo ended with " + std::to_string(end.value().exit_code) +
                                      "; no program was made of " + build.project);
  }
  const Result<std::string> module = chosen_module(build, end.value().output);
  if (!module.ok()) return fail(ExitCode::Failed, std::string(module.error().message()));
  const fs::path made = module.value();
  const fs::path output =
      build.output.empty() ? fs::path(build.project) / made.filename() : fs::path(build.output);
  return finish_program(made.string(), output.string());
}

std::vector<std::string> files_of_cargo_project(const std::string& project) {
  std::vector<std::string> files = {(fs::path(project) / kManifest).string()};
  std::error_code failure;
  const fs::path lock = fs::path(project) / "Cargo.lock";
  if (fs::exists(lock, failure)) files.push_back(lock.string());
  for (const auto& each : fs::recursive_directory_iterator(fs::path(project) / "src", failure)) {
    if (each.path().extension() == ".rs") files.push_back(each.path().string());
  }
  return files;
}

}  // namespace quire
