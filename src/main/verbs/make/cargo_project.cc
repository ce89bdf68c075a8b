#include "main/verbs/make/cargo_project.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <system_error>

#include "base/json.h"
#include "base/result.h"
#include "base/utf8.h"
#include "cli/exit_code.h"
#include "main/machine/folders.h"
#include "main/verbs/make/build_command.h"
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

// The value of default-run in the manifest of the project; empty: it has none.
std::string default_run_of(const CargoBuild& build, const RustTools& tools) {
  const std::vector<std::string> line = in_folder(
      build.project, {tools.cargo, "metadata", "--no-deps", "--offline", "--format-version=1"});
  const Result<ProcessEnd> end = run_process(line, ProcessOutput::Return);
  if (!end.ok() || end.value().exit_code != 0) return "";
  const Result<Json> metadata = parse_json(end.value().output, "cargo metadata");
  if (!metadata.ok() || !metadata.value().is_object()) return "";
  const auto packages = metadata.value().find("packages");
  if (packages == metadata.value().end() || !packages->is_array()) return "";
  for (const Json& each : *packages) {
    if (!each.is_object()) continue;
    const auto name = each.find("default_run");
    const auto manifest = each.find("manifest_path");
    const bool is_known =
        name != each.end() && name->is_string() && manifest != each.end() && manifest->is_string();
    std::error_code ignored;
    if (is_known && fs::equivalent(manifest->get<std::string>(),
                                   fs::path(build.project) / kManifest, ignored)) {
      return name->get<std::string>();
    }
  }
  return "";
}

Result<std::string> chosen_module(const CargoBuild& build, const RustTools& tools,
                                  const std::string& messages) {
  const std::vector<std::string> modules = modules_in(messages);
  if (modules.size() == 1) return modules[0];
  if (modules.empty()) {
    return Error(ErrorCode::InvalidArgument,
                 build.project + " makes no program: it has neither src/main.rs nor [[bin]]");
  }
  const std::string wanted = default_run_of(build, tools);
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
  const std::vector<std::string> line = command_line(build, tools.value());
  if (build.verbose) print_line(line);
  const Result<ProcessEnd> end = run_process(line, ProcessOutput::ReturnOutput);
  if (!end.ok()) return fail(ExitCode::Missing, std::string(end.error().message()));
  if (end.value().exit_code != 0) {
    return fail(ExitCode::Failed, "cargo ended with " + std::to_string(end.value().exit_code) +
                                      "; no program was made of " + build.project);
  }
  const Result<std::string> module = chosen_module(build, tools.value(), end.value().output);
  if (!module.ok()) return fail(ExitCode::Failed, std::string(module.error().message()));
  const fs::path made = module.value();
  const fs::path output =
      build.output.empty() ? fs::path(build.project) / made.filename() : fs::path(build.output);
  std::error_code failure;
  fs::copy_file(made, output, fs::copy_options::overwrite_existing, failure);
  if (failure) return fail(ExitCode::Failed, output.string() + ": " + failure.message());
  return finish_program(output.string());
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
