#include "main/verbs/make/source_program.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "base/file.h"
#include "cli/exit_code.h"
#include "cli/terminal.h"
#include "main/machine/folders.h"
#include "main/modules/finish_module.h"
#include "main/verbs/make/build_command.h"
#include "main/verbs/make/cargo_project.h"
#include "main/verbs/make/compiler_advice.h"
#include "main/verbs/make/guest_toolchain.h"
#include "main/verbs/make/precompiled_sdk.h"
#include "main/verbs/make/project_folder.h"
#include "main/verbs/make/script_program.h"
#include "main/verbs/shared/artifact_cache.h"
#include "main/verbs/shared/output.h"
#include "main/verbs/shared/process.h"
#include "main/verbs/shared/sdk_location.h"

namespace quire {
namespace {

namespace fs = std::filesystem;
using cli::ExitCode;

constexpr std::uint64_t kSourceBytesMax = 16u << 20;
constexpr std::uint64_t kMessageBytesMax = 4u << 20;
constexpr std::size_t kEntryCountMax = 64;  // Some 2 MB each.
constexpr const char* kFolder = "programs";
constexpr const char* kModuleFile = "program.wasm";
constexpr const char* kMessagesFile = "messages";

// The values that are the same for each compilation of one run of quire.
struct Toolchain {
  SdkLocation sdk;
  std::string compiler;
  std::optional<PrecompiledSdk> precompiled;  // For this source; none: it is compiled alone.
};

Result<Toolchain> find_toolchain(const std::string& source) {
  const char* given = std::getenv("QUIRE_SDK");
  Toolchain found;
  found.sdk = TRY(find_sdk(std::string(given == nullptr ? "" : given)));
  found.compiler = TRY(find_guest_compiler(""));
  if (!includes_sdk(source)) return found;
  Result<PrecompiledSdk> precompiled = precompiled_sdk(
      found.compiler, found.sdk, cache_folder(),
      [] { std::fputs("compiling the SDK once, so that programs compile quickly\n", stderr); });
  if (precompiled.ok()) {
    found.precompiled = std::move(precompiled).take();
  } else {
    warn("the SDK is compiled with the program: " + std::string(precompiled.error().message()));
  }
  return found;
}

// The output of the compiler and of the linker, and how they ended.
struct Compiled {
  int exit_code = 0;
  std::string messages;
};

Result<Compiled> run_compiler(std::vector<std::string> command) {
  if (cli::Terminal::standard_error().interactive()) command.push_back("-fcolor-diagnostics");
  ProcessEnd end = TRY(run_process(command, ProcessOutput::ReturnErrors));
  return Compiled{end.exit_code, std::move(end.output)};
}

// The compiler and the linker, one after the other, because only the first reads the header.
Result<Compiled> compile_with(const PrecompiledSdk& precompiled, const Toolchain& tools,
                              const std::string& source, const std::string& module,
                              const std::string& dependencies) {
  std::vector<std::string> line = {tools.compiler};
  const std::vector<std::string> flags = TRY(quick_compile_flags(tools.sdk));
  line.insert(line.end(), flags.begin(), flags.end());
  const std::string object = module + ".o";
  line.insert(line.end(), {"-gline-tables-only", "-include-pch", precompiled.header, "-MMD", "-MF",
                           dependencies, "-c", source, "-o", object});
  Compiled compiled = TRY(run_compiler(line));
  if (compiled.exit_code != 0) return compiled;
  line = guest_command(tools.compiler, tools.sdk);
  // The line numbers of the program's own code stay, because a trap reports them.
  line.insert(line.end(), {"-fno-lto", object, precompiled.object, "-o", module});
  const Compiled linked = TRY(run_compiler(line));
  std::error_code ignored;
  fs::remove(object, ignored);
  return Compiled{linked.exit_code, compiled.messages + linked.messages};
}

Result<Compiled> compile_alone(const Toolchain& tools, const std::string& source,
                               const std::string& module, const std::string& dependencies) {
  std::vector<std::string> line = guest_command(tools.compiler, tools.sdk);
  line.insert(line.end(), {"-O0", "-fno-lto", "-gline-tables-only", "-MD", "-MF", dependencies,
                           source, "-o", module});
  return run_compiler(line);
}

Result<Compiled> compile(const Toolchain& tools, const std::string& source,
                         const std::string& module, const std::string& dependencies) {
  if (!tools.precompiled) return compile_alone(tools, source, module, dependencies);
  Compiled compiled = TRY(compile_with(*tools.precompiled, tools, source, module, dependencies));
  std::error_code ignored;
  // Another process may have made room in the cache meanwhile.
  const bool is_gone = !fs::exists(tools.precompiled->header, ignored) ||
                       !fs::exists(tools.precompiled->object, ignored);
  if (compiled.exit_code != 0 && is_gone) {
    return compile_alone(tools, source, module, dependencies);
  }
  return compiled;
}

std::string stamp_line(const std::string& path) {
  return path + " " + file_stamp(path).value_or("") + "\n";
}

// All that a module depends on and is known before it is compiled.
Result<std::string> name_of_program(const Toolchain& tools, const std::string& source) {
  std::string text = "3\n" + stamp_line(TRY(executable_path())) + tools.compiler + "\n";
  if (tools.precompiled) {  // The name of its entry stands for the compiler's version.
    text += stamp_line(tools.precompiled->header) + stamp_line(tools.precompiled->object);
  } else {
    text += TRY(run_process({tools.compiler, "--version"}, ProcessOutput::Return)).output;
  }
  for (const std::string& each : TRY(quick_compile_flags(tools.sdk))) text += each + "\n";
  for (const char* each : {"CPATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH"}) {
    const char* value = std::getenv(each);
    text += std::string(each) + "=" + (value == nullptr ? "" : value) + "\n";
  }
  std::error_code ignored;
  text += source + "\n" + fs::absolute(source, ignored).string() + "\n";
  return entry_name(text + TRY(read_file(source, kSourceBytesMax)));
}

// ESC [ ... m, which a compiler writes for a terminal.
std::string without_colours(const std::string& text) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\x1b') {
      out += text[at];
      continue;
    }
    at = std::min(text.find_first_of("mK", at), text.size());
  }
  return out;
}

void say(const std::string& messages) {
  const bool has_colours = cli::Terminal::standard_error().interactive();
  const std::string text = has_colours ? messages : without_colours(messages);
  std::fputs(text.c_str(), stderr);
}

std::vector<std::string> headers_beside(const std::string& source) {
  std::vector<std::string> headers;
  std::error_code failure;
  const fs::path folder = fs::path(source).parent_path();
  for (const auto& each : fs::directory_iterator(folder.empty() ? "." : folder, failure)) {
    const std::string ending = each.path().extension().string();
    if (ending == ".h" || ending == ".hpp") headers.push_back(each.path().string());
  }
  return headers;
}

// One source on its way to a module.
class ProgramBuild {
 public:
  ProgramBuild(Toolchain tools, const std::string& source)
      : tools_(std::move(tools)),
        source_(source),
        cache_(cache_folder(), kFolder, kEntryCountMax) {}

  // An exit code.
  Result<int> make(const std::string& module) {
    const Result<fs::path> entry =
        cache_.find_or_make(TRY(name_of_program(tools_, source_)),
                            [&](const fs::path& folder) { return compile_into(folder, module); });
    if (failed_ != 0) return fail_build(tools_.compiler, failed_, source_ + " was not compiled");
    if (has_module_ || (entry.ok() && take(entry.value(), module))) {
      return cli::number(ExitCode::Ok);
    }
    // The cache cannot be used; the program can.
    TRY(compile_to(module, module + ".d"));
    if (failed_ != 0) return fail_build(tools_.compiler, failed_, source_ + " was not compiled");
    return cli::number(ExitCode::Ok);
  }

  std::vector<std::string> files() const {
    std::vector<std::string> files = {source_};
    const Result<std::string> name = name_of_program(tools_, source_);
    if (!name.ok()) return files;
    const Result<fs::path> kept = cache_.find(name.value());
    if (!kept.ok()) {  // What a program that does not compile includes is not known.
      for (std::string& each : headers_beside(source_)) files.push_back(std::move(each));
      return files;
    }
    for (std::string& each : inputs_of(kept.value())) files.push_back(std::move(each));
    return files;
  }

 private:
  // Compiles, and says at once what there is to say. Returns it, too.
  Result<std::string> compile_to(const std::string& module, const std::string& dependencies) {
    Compiled compiled = TRY(compile(tools_, source_, module, dependencies));
    failed_ = compiled.exit_code;
    if (failed_ != 0) compiled.messages += compiler_advice(compiled.messages);
    if (failed_ == 0) {
      const std::string failure = TRY(modules::finish_module_file(module, module));
      if (!failure.empty()) {
        compiled.messages +=
            "warning: " + source_ + " has no options for --help: " + failure + "\n";
      }
    }
    say(compiled.messages);
    return std::move(compiled.messages);
  }

  Result<std::vector<Input>> compile_into(const fs::path& folder, const std::string& module) {
    const std::string dependencies = (folder / "dependencies").string();
    const std::string made = (folder / kModuleFile).string();
    const std::string messages = TRY(compile_to(made, dependencies));
    if (failed_ != 0) return Error(ErrorCode::InvalidArgument, source_ + " was not compiled");
    std::ofstream(folder / kMessagesFile, std::ios::binary) << messages;
    std::error_code failure;
    fs::copy_file(made, module, fs::copy_options::overwrite_existing, failure);
    if (failure) return Error(ErrorCode::Io, module + ": " + failure.message());
    has_module_ = true;
    std::vector<Input> inputs;
    const std::string read = TRY(read_file(dependencies, kMessageBytesMax));
    for (std::string& path : paths_of_dependencies(read)) {
      const bool is_made = tools_.precompiled && path == tools_.precompiled->header;
      if (!is_made && path != source_) inputs.push_back({.path = std::move(path)});
    }
    fs::remove(dependencies, failure);
    return inputs;
  }

  // The module of an entry; false if the entry has gone meanwhile.
  bool take(const fs::path& entry, const std::string& module) {
    const Result<std::string> messages =
        read_file((entry / kMessagesFile).string(), kMessageBytesMax);
    std::error_code failure;
    fs::copy_file(entry / kModuleFile, module, fs::copy_options::overwrite_existing, failure);
    if (failure || !messages.ok()) return false;
    say(messages.value());
    return true;
  }

  const Toolchain tools_;
  const std::string source_;
  const ArtifactCache cache_;
  int failed_ = 0;           // The compiler's exit code.
  bool has_module_ = false;  // Whether the module is where it was wanted.
};

}  // namespace

bool is_cpp_source(const std::string& path) {
  const std::string ending = fs::path(path).extension().string();
  return ending == ".cpp" || ending == ".cc" || ending == ".cxx" || ending == ".C";
}

bool is_program_source(const std::string& path) {
  return is_cpp_source(path) || is_script_source(path) || is_project_folder(path);
}

std::string program_name_of(const std::string& source) {
  if (!is_project_folder(source)) return fs::path(source).stem().string();
  std::error_code ignored;
  const fs::path folder = fs::absolute(source, ignored).lexically_normal();
  return (folder.has_filename() ? folder : folder.parent_path()).filename().string();
}

int build_for_run(const std::string& source, const std::string& module, const std::string& bin) {
  if (is_cargo_project(source)) {
    return build_cargo_project({.project = source, .output = module, .bin = bin, .quiet = true});
  }
  std::error_code ignored;
  if (fs::is_directory(source, ignored)) {
    const Result<std::string> main_source = main_source_in(source);
    if (!main_source.ok()) return fail_program(main_source.error());
    return build_for_run(main_source.value(), module);
  }
  if (is_script_source(source)) {
    return build_script(source, module, BrokenScript::IsLeftToTheRun);
  }
  if (!fs::is_regular_file(source, ignored)) return fail(ExitCode::Missing, "no file " + source);
  Result<Toolchain> tools = find_toolchain(source);
  if (!tools.ok()) return fail(ExitCode::Missing, std::string(tools.error().message()));
  const Result<int> made = ProgramBuild(std::move(tools).take(), source).make(module);
  return made.ok() ? made.value() : fail(ExitCode::Missing, std::string(made.error().message()));
}

std::vector<std::string> files_of_program(const std::string& source) {
  if (is_cargo_project(source)) return files_of_cargo_project(source);
  if (is_project_folder(source)) {
    const Result<std::string> main_source = main_source_in(source);
    return main_source.ok() ? files_of_program(main_source.value()) : std::vector{source};
  }
  if (is_script_source(source)) return files_of_script(source);
  Result<Toolchain> tools = find_toolchain(source);
  if (!tools.ok()) return {source};
  return ProgramBuild(std::move(tools).take(), source).files();
}

}  // namespace quire
