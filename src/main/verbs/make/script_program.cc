#include "main/verbs/make/script_program.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <set>
#include <system_error>

#include "application/sandbox/script_workbench.h"
#include "base/result.h"
#include "cli/exit_code.h"
#include "main/machine/folders.h"
#include "main/modules/script_module.h"
#include "main/verbs/shared/output.h"

namespace quire {
namespace {

namespace fs = std::filesystem;

using Options = Result<std::optional<std::string>>;

// `module` is that of a script without options.
Options read_options(const sandbox::ScriptRuntime& runtime, const std::string& module) {
  const std::string_view script = *TRY(sandbox::find_script(module));
  const std::unique_ptr<sandbox::ScriptWorkbench> workbench =
      TRY(sandbox::ScriptWorkbench::open(runtime));
  return workbench->options(script);
}

Result<void> write_script(const std::string& source, const std::string& module,
                          BrokenScript broken) {
  const std::vector<modules::ScriptSource> sources = TRY(modules::collect_script(source));
  const sandbox::ScriptRuntime runtime =
      TRY(sandbox::find_runtime(runtimes_folder(), modules::script_runtime_of(source)));
  std::string bytes = TRY(modules::script_module(sources, runtime));
  const Options options = read_options(runtime, bytes);
  const bool is_broken = !options.ok() && options.error().code() == ErrorCode::InvalidArgument;
  if (options.ok() && options.value()) {
    bytes = TRY(modules::script_module(sources, runtime, *options.value()));
  } else if (!options.ok() && (!is_broken || broken == BrokenScript::IsReported)) {
    warn(source + " has no options for --help: " + std::string(options.error().message()));
  }
  std::ofstream file(module, std::ios::binary | std::ios::trunc);
  file << bytes;
  file.close();
  if (file) return {};
  return Error(ErrorCode::Io, module + " cannot be written");
}

}  // namespace

bool is_script_source(const std::string& path) {
  return !modules::script_runtime_of(path).empty();
}

Result<void> check_script_options(const std::string& source) {
  const std::vector<modules::ScriptSource> sources = TRY(modules::collect_script(source));
  const sandbox::ScriptRuntime runtime =
      TRY(sandbox::find_runtime(runtimes_folder(), modules::script_runtime_of(source)));
  const std::string module = TRY(modules::script_module(sources, runtime));
  TRY(read_options(runtime, module));
  return {};
}

int build_script(const std::string& source, const std::string& module, BrokenScript broken) {
  std::error_code ignored;
  if (!fs::is_regular_file(source, ignored)) {
    return fail(cli::ExitCode::Missing, "no file " + source);
  }
  const Result<void> written = write_script(source, module, broken);
  return written.ok() ? cli::number(cli::ExitCode::Ok) : fail_program(written.error());
}

std::vector<std::string> files_of_script(const std::string& source) {
  const Result<std::vector<modules::ScriptSource>> sources = modules::collect_script(source);
  if (!sources.ok()) return {source};
  std::vector<std::string> files;
  for (const modules::ScriptSource& each : sources.value()) files.push_back(each.file);
  return files;
}

std::vector<std::string> scripts_in(const std::string& folder) {
  std::vector<std::string> scripts;
  std::error_code failed;
  for (const auto& each : fs::directory_iterator(folder, failed)) {
    const std::string path = each.path().string();
    if (each.is_regular_file(failed) && is_script_source(path)) scripts.push_back(path);
  }
  std::ranges::sort(scripts);
  std::set<std::string> imported;
  for (const std::string& script : scripts) {
    const std::vector<std::string> files = files_of_script(script);
    for (const std::string& each : files) {
      if (each != script) imported.insert(fs::path(each).lexically_normal().string());
    }
  }
  std::erase_if(scripts, [&](const std::string& each) {
    return imported.contains(fs::path(each).lexically_normal().string());
  });
  return scripts;
}

}  // namespace quire
