// quire-bench: every measurement of the engine, for those who change it. `quire bench` has the
// three that users need.
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "application/sandbox/compile_worker.h"
#include "base/check.h"
#include "bench/engine/bench_pages_command.h"
#include "bench/engine/engine_bench_command.h"
#include "bench/machine/bench_command.h"
#include "bench/machine/bench_launch_command.h"
#include "cli/parse.h"
#include "cli/terminal.h"
#include "main/verbs/shared/output.h"
#include "main/verbs/shared/parsed_answer.h"

namespace quire {
namespace {

int measure(const cli::BenchOptions& options) {
  const bool is_of_machine =
      options.kind == cli::BenchKind::Kv || options.kind == cli::BenchKind::Generate;
  return is_of_machine ? bench_command(options) : engine_bench_command(options);
}
int measure(const cli::BenchPagesOptions& options) {
  return bench_pages_command(options);
}
int measure(const cli::BenchLaunchOptions& options) {
  return bench_launch_command(options);
}

int run(int argc, char** argv) {
  const cli::Parsed parsed = cli::parse(std::vector<std::string>(argv + 1, argv + argc),
                                        cli::CommandLine::QuireBench, cli::help_columns());
  for (const std::string& each : parsed.warnings) warn(each);
  if (!parsed.request) return print_answer(parsed, argc == 1);
  return std::visit(
      [](const auto& options) -> int {
        if constexpr (requires { measure(options); }) {
          return measure(options);
        } else {
          QUIRE_CHECK(false, "a request of quire alone");
        }
      },
      *parsed.request);
}

}  // namespace
}  // namespace quire

int main(int argc, char** argv) {
  // The sandbox starts its own program to compile a client's module.
  if (argc == 2 && std::string_view(argv[1]) == quire::sandbox::kCompileVerb) {
    return quire::sandbox::compile_worker_main();
  }
  quire::open_standard_files();
  return quire::exit_code_after_output(quire::run(argc, argv));
}
