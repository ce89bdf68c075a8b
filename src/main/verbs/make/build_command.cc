#include "main/verbs/make/build_command.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "cli/exit_code.h"
#include "cli/terminal.h"
#include "main/machine/folders.h"
#include "main/modules/finish_module.h"
#include "main/verbs/make/cargo_project.h"
#include "main/verbs/make/compiler_advice.h"
#include "main/verbs/make/guest_toolchain.h"
#include "main/verbs/make/precompiled_sdk.h"
#include "main/verbs/make/program_files.h"
#include "main/verbs/make/project_folder.h"
#include "main/verbs/make/script_program.h"
#include "main/verbs/make/source_program.h"
#include "main/verbs/shared/output.h"
#include "main/verbs/shared/process.h"
#include "main/verbs/shared/sdk_location.h"

namespace quire {
namespace {

namespace fs = std::filesystem;

std::string command_text(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& each : words) {
    const bool quote = each.find_first_of(" \t'\"$\\") != std::string::npos;
    out += (out.empty() ? "" : " ") + (quote ? "'" + each + "'" : each);
  }
  return out;
}

// The precompiled header for these sources, or an empty path. It was made with the flags of
// guest_flags.rsp alone, so a build with other flags does not use it.
std::string find_header(const cli::BuildOptions& options, const SdkLocation& sdk,
                        const std::string& compiler) {
  if (options.debug || !options.flags.empty()) return "";
  if (!std::all_of(options.sources.begin(), options.sources.end(), includes_sdk)) return "";
  const Result<std::string> header = precompiled_header(compiler, sdk, cache_folder(), [] {
    std::fputs("compiling the SDK once, so that programs compile in half the time\n", stderr);
  });
  if (header.ok()) return header.value();
  warn("the SDK is compiled with the program: " + std::string(header.error().message()));
  return "";
}

// `header`: a precompiled one, or empty.
std::vector<std::string> command_line(const cli::BuildOptions& options, const SdkLocation& sdk,
                                      const std::string& compiler, const std::string& header,
                                      const std::string& output) {
  std::vector<std::string> line = guest_command(compiler, sdk);
  if (!header.empty()) line.insert(line.end(), {"-include-pch", header});
  if (options.debug) {
    line.insert(line.end(), {"-O0", "-fno-lto", "-g"});
  } else {
    // Function names stay: a trap's backtrace shows them.
    line.push_back("-Wl,--strip-debug");
  }
  line.insert(line.end(), options.flags.begin(), options.flags.end());
  line.insert(line.end(), options.sources.begin(), options.sources.end());
  line.insert(line.end(), {"-o", output});
  return line;
}

// Before anything is compiled for it.
Result<void> check_output_folder(const std::string& output) {
  const fs::path folder = fs::path(output).parent_path();
  std::error_code ignored;
  if (folder.empty() || fs::is_directory(folder, ignored)) return {};
  return Error(ErrorCode::NotFound,
               "there is no folder " + folder.string() + " for -o " + output + "; make it first");
}

// A script is its own source: no compiler has a part in it.
int build_script_command(const cli::BuildOptions& options) {
  using cli::ExitCode;
  if (options.sources.size() > 1) {
    return fail(ExitCode::Usage, "a script has one source, which imports the others: give " +
                                     options.sources[0] + " alone");
  }
  if (!options.flags.empty()) {
    return fail(ExitCode::Usage, "flags after -- are for a compiler, and a script needs none");
  }
  const std::string module = options.output.empty()
                                 ? fs::path(options.sources[0]).replace_extension(".wasm").string()
                                 : options.output;
  return build_script(options.sources[0], module, BrokenScript::IsReported);
}

}  // namespace

int finish_program(const std::string& made, const std::string& output) {
  // Flags may ask for another kind of output, such as an object or the source after its includes.
  const Result<void> is_module = check_module_file(made);
  if (!is_module.ok()) return cli::number(cli::ExitCode::Ok);
  const Result<std::string> finished = modules::finish_module_file(made, output);
  if (!finished.ok()) return fail(finished.error());
  if (!finished.value().empty()) {
    warn(output + " has no options for --help: " + finished.value());
  }
  return cli::number(cli::ExitCode::Ok);
}

int fail_build(const std::string& compiler, int compiler_exit_code, const std::string& outcome) {
  using cli::ExitCode;
  if (compiler_exit_code > 128) {
    return fail(ExitCode::Failed,
                compiler + " was ended by signal " + std::to_string(compiler_exit_code - 128));
  }
  if (!can_build_for_wasm(compiler, nullptr)) {
    return fail(ExitCode::Missing,
                compiler +
                    " lacks the linker or the libraries for Wasm; install them with: "
                    "apt-get install " +
                    kGuestPackages);
  }
  return fail(ExitCode::Failed, "the compiler found errors; " + outcome);
}

namespace {

// C++ sources, or a script.
int build_files(const cli::BuildOptions& options) {
  using cli::ExitCode;
  for (const std::string& each : options.sources) {
    std::error_code ignored;
    if (is_folder(each)) {
      return fail(ExitCode::Missing,
                  each + " is a folder, which is built alone: name the files of one program");
    }
    if (!fs::is_regular_file(each, ignored)) return fail(ExitCode::Missing, "no file " + each);
  }
  if (std::ranges::any_of(options.sources, is_script_source)) return build_script_command(options);
  Result<SdkLocation> sdk = find_sdk(options.sdk);
  if (!sdk.ok()) return fail(ExitCode::Missing, std::string(sdk.error().message()));
  Result<std::string> compiler = find_guest_compiler(options.compiler);
  if (!compiler.ok()) return fail(ExitCode::Missing, std::string(compiler.error().message()));
  const std::string output = options.output.empty()
                                 ? fs::path(options.sources[0]).replace_extension(".wasm").string()
                                 : options.output;
  const std::string header = find_header(options, sdk.value(), compiler.value());
  const auto compile = [&](const std::string& with) {
    auto line = command_line(options, sdk.value(), compiler.value(), with, output);
    if (options.verbose) std::fprintf(stderr, "%s\n", command_text(line).c_str());
    if (cli::Terminal::standard_error().interactive()) line.push_back("-fcolor-diagnostics");
    Result<ProcessEnd> end = run_process(line, ProcessOutput::ReturnErrors);
    if (end.ok()) std::fputs(end.value().output.c_str(), stderr);
    return end;
  };
  Result<ProcessEnd> end = compile(header);
  std::error_code ignored;
  // Another process may have made room in the cache meanwhile.
  const bool is_gone = !header.empty() && !fs::exists(header, ignored);
  if (end.ok() && end.value().exit_code != 0 && is_gone) end = compile("");
  if (!end.ok()) return fail(ExitCode::Missing, std::string(end.error().message()));
  if (end.value().exit_code == 0) return finish_program(output, output);
  std::fputs(compiler_advice(end.value().output).c_str(), stderr);
  return fail_build(compiler.value(), end.value().exit_code, output + " was not made");
}

// The module is named after the folder, and lies in it.
int build_folder(const cli::BuildOptions& options) {
  const std::string& folder = options.sources[0];
  const Result<std::string> main_source = main_source_in(folder);
  if (!main_source.ok()) {
    return fail(cli::ExitCode::Missing, std::string(main_source.error().message()));
  }
  cli::BuildOptions of_source = options;
  of_source.sources = {main_source.value()};
  if (options.output.empty()) {
    of_source.output = (fs::path(folder) / program_name_of(folder)).string() + ".wasm";
  }
  return build_files(of_source);
}

}  // namespace

int build_command(const cli::BuildOptions& options) {
  using cli::ExitCode;
  if (options.sources.empty()) return fail(ExitCode::Usage, "no source was given");
  if (const Result<void> folder = check_output_folder(options.output); !folder.ok()) {
    return fail(ExitCode::Missing, std::string(folder.error().message()));
  }
  if (options.sources.size() == 1 && is_cargo_project(options.sources[0])) {
    return build_cargo_project({.project = options.sources[0],
                                .output = options.output,
                                .bin = options.bin,
                                .flags = options.flags,
                                .debug = options.debug,
                                .verbose = options.verbose});
  }
  if (!options.bin.empty()) return fail(ExitCode::Usage, no_cargo_project_text(options.sources[0]));
  if (options.sources.size() == 1 && is_folder(options.sources[0])) return build_folder(options);
  return build_files(options);
}

}  // namespace quire
