#include "main/verbs/run/run_remote.h"

#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/json.h"
#include "cli/terminal.h"
#include "client/remote_service.h"
#include "main/verbs/run/program_options.h"
#include "main/verbs/run/run_arguments.h"
#include "main/verbs/run/run_client.h"
#include "main/verbs/run/run_programs.h"
#include "main/verbs/run/sent_files.h"
#include "main/verbs/shared/interrupt.h"
#include "main/verbs/shared/output.h"
#include "main/verbs/shared/remote_times.h"

namespace quire {
namespace {

using SteadyTime = std::chrono::steady_clock;

void tell_shutdown(std::uint64_t grace_ms) {
  const cli::Terminal terminal = cli::Terminal::standard_error();
  const std::string line = "the server is shutting down; what still runs is stopped in " +
                           std::to_string(grace_ms) + " ms";
  std::fprintf(stderr, "%s\n", terminal.paint(line, cli::Colour::Yellow).c_str());
}

void tell_detached(InstanceId, const std::string& why) {
  print_error("the program goes on without this client: " + why);
}

// The limits that the user gave; the server's own hold for all else.
service::LaunchLimits limits_of(const cli::InstanceOptions& options) {
  service::LaunchLimits limits;
  if (options.has_memory) limits.memory_bytes_max = options.memory_bytes_max;
  if (options.page_count_max > 0) limits.page_count_max = options.page_count_max;
  if (options.has_output) limits.output_bytes_max = options.output_bytes_max;
  if (options.has_cpu_seconds) {
    limits.cpu_ns_max = static_cast<std::uint64_t>(options.cpu_seconds_max * 1e9);
  }
  return limits;
}

// All of them before the first goes, because a launch that is too large ends the connection.
Result<void> check_launches(const std::vector<service::Launch>& launches) {
  for (std::size_t number = 0; number < launches.size(); ++number) {
    const Result<void> checked = client::check_launch(launches[number]);
    if (checked.ok()) continue;
    return Error(checked.error().code(), "the arguments of instance " + std::to_string(number) +
                                             " " + std::string(checked.error().message()));
  }
  return {};
}

}  // namespace

Result<int> run_remote(const cli::RunOptions& options) {
  const wire::Endpoint endpoint = TRY(server_endpoint(options.server));
  std::vector<Arguments> all = TRY(run_arguments(options));
  if (const Result<void> words = check_program_options(options); !words.ok()) {
    return fail_program(words.error());
  }
  const std::vector<FileToSend> files = TRY(open_files_to_send(options.sent_files));
  std::optional<ReceivedFiles> received = TRY(received_files(options));
  const std::string key = TRY(server_key(options.key_file));
  client::RemoteService service(
      TRY(client::ServerClient::connect(endpoint, kConnectTimeMax, {}, key)),
      {.shutdown = tell_shutdown, .detached = tell_detached});
  Result<service::ProgramName> program = bring_program(service, options.program);
  if (!program.ok()) {
    const bool is_no_module = program.error().code() == ErrorCode::InvalidArgument;
    return is_no_module ? fail_program(program.error()) : fail(program.error());
  }
  std::vector<service::Launch> launches = launches_of(options, program.value(), std::move(all));
  for (service::Launch& each : launches) each.limits = limits_of(options.instance);
  TRY(check_launches(launches));
  Interrupt interrupt = TRY(Interrupt::create());
  RunClient printer(options.output, !options.each_file.empty(), std::move(received));
  const SteadyTime::time_point begin = SteadyTime::now();
  ProgramsRun run(service, printer, printer, std::move(launches), files);
  if (const Result<void> ran = run.run(&interrupt); !ran.ok()) {
    if (ran.error().code() != ErrorCode::Cancelled) return ran.error().copy();
    printer.end_output_line();
    std::fputs("interrupted\n", stderr);
    return cli::number(cli::ExitCode::Interrupted);
  }
  const double duration_s = std::chrono::duration<double>(SteadyTime::now() - begin).count();
  const std::string line = options.output == cli::OutputStyle::Json
                               ? dump_json(totals_json(printer.totals(), duration_s))
                               : "[" + totals_text(printer.totals(), duration_s) + "]";
  const cli::Terminal terminal = cli::Terminal::standard_error();
  std::fprintf(stderr, "%s\n", terminal.paint(line, cli::Colour::Grey).c_str());
  return printer.exit_code();
}

}  // namespace quire
