#include "main/verbs/run/program_options.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/file.h"
#include "cli/exit_code.h"
#include "cli/help_layout.h"
#include "cli/terminal.h"
#include "main/modules/declared_options.h"
#include "main/verbs/make/program_files.h"
#include "main/verbs/make/script_program.h"
#include "main/verbs/shared/output.h"

namespace quire {
namespace {

using modules::DeclaredOptions;

// Larger ones are refused when they are run.
constexpr std::uint64_t kModuleBytesMax = std::uint64_t{256} << 20;

Result<std::optional<DeclaredOptions>> read_options(const std::string& file) {
  return modules::declared_options_of(TRY(read_file(file, kModuleBytesMax)));
}

// Nothing where the program cannot be read or does not say: running it says more.
std::optional<DeclaredOptions> options_if_known(const std::string& file) {
  Result<std::optional<DeclaredOptions>> options = read_options(file);
  return options.ok() ? std::move(options).take() : std::nullopt;
}

// The name by which the user calls the program.
const std::string& name_of(const cli::RunOptions& run) {
  return run.source.empty() ? run.program : run.source;
}

}  // namespace

bool asks_for_program_help(const cli::RunOptions& options) {
  const auto& words = options.arguments;
  const auto end = std::find(words.begin(), words.end(), "--");
  if (std::find(words.begin(), end, "--help") == end) return false;
  const std::optional<DeclaredOptions> declared = options_if_known(options.program);
  return declared && std::none_of(declared->begin(), declared->end(),
                                  [](const auto& each) { return each.name == "help"; });
}

int show_program_options(const cli::RunOptions& run) {
  const std::string& file = run.program;
  const std::string name = name_of(run);
  if (const Result<void> module = check_module_file(file); !module.ok()) {
    return fail_program(module.error());
  }
  const Result<std::optional<DeclaredOptions>> options = read_options(file);
  if (!options.ok()) return fail_program(options.error());
  if (!options.value() && is_script_source(run.source)) {
    if (const Result<void> read = check_script_options(run.source); !read.ok()) {
      return fail_program(read.error());
    }
    return fail(cli::ExitCode::Failed,
                name +
                    " declares no options; export const options = { n: { type: \"integer\", "
                    "default: 4 } } would declare one");
  }
  if (!options.value()) {
    return fail(cli::ExitCode::Failed,
                name + " does not say which options it has: its module has no section " +
                    std::string(modules::kOptionsSection) +
                    ", which quire build writes for programs that declare options with the SDK's "
                    "OptionReader");
  }
  const std::uint32_t shown = cli::terminal_columns(STDOUT_FILENO);
  const std::uint32_t columns =
      shown == 0 ? cli::kHelpColumnsMax : std::min(shown, cli::kHelpColumnsMax);
  print(modules::options_help(name, *options.value(), columns) +
        "\nThe flags of quire run itself: quire run --help\n");
  return cli::number(cli::ExitCode::Ok);
}

Result<void> check_program_options(const cli::RunOptions& options) {
  if (!options.each_file.empty() || options.output == cli::OutputStyle::Json) return {};
  const std::optional<DeclaredOptions> declared = options_if_known(options.program);
  if (!declared) return {};
  const Result<void> checked = modules::check_program_words(*declared, options.arguments);
  if (checked.ok()) return {};
  return Error(ErrorCode::InvalidArgument, std::string(checked.error().message()) +
                                               "\nSee: quire run " + name_of(options) + " --help");
}

}  // namespace quire
