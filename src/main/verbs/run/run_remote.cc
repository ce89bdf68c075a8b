#include "main/verbs/run/run_remote.h"

#include <chrono>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>
#include <utility>

#include "cli/terminal.h"
#include "client/remote_service.h"
#include "main/verbs/run/awaited_reply.h"
#include "main/verbs/run/program_options.h"
#include "main/verbs/run/remote_run.h"
#include "main/verbs/run/run_arguments.h"
#include "main/verbs/run/run_client.h"
#include "main/verbs/run/run_programs.h"
#include "main/verbs/run/sent_files.h"
#include "main/verbs/run/shipped_program.h"
#include "main/verbs/shared/interrupt.h"
#include "main/verbs/shared/kv_text.h"
#include "main/verbs/shared/output.h"

namespace quire {
namespace {

using SteadyTime = std::chrono::steady_clock;

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

// The program of the server with that name, or else the one that comes with quire, as a file.
Result<cli::RunOptions> with_program(service::Service& service, cli::RunOptions options) {
  const std::optional<std::string> module = shipped_program_named(options.program);
  if (!module || TRY(has_program(service, options.program))) return options;
  options.source = options.program;
  options.program = *module;
  return options;
}

// A full server is asked again for a while, as for other launches.
Result<wire::InstanceReply> start_detached(client::RemoteService& service,
                                           const service::Launch& launch) {
  const SteadyTime::time_point end = SteadyTime::now() + kFullTimeMax;
  while (true) {
    service::Reply<wire::InstanceReply> reply = TRY(await_reply<wire::InstanceReply>(
        service, kCompileTimeMax, [&](auto then) { service.start(launch, std::move(then)); }));
    const auto* failure = std::get_if<service::Failure>(&reply);
    if (failure == nullptr) return std::get<wire::InstanceReply>(std::move(reply));
    if (!failure->retry_after_ms || SteadyTime::now() >= end) return error_of(*failure);
    std::this_thread::sleep_for(std::chrono::milliseconds(*failure->retry_after_ms));
  }
}

// Launches each without attaching, so that the next client gets all output from the beginning.
Result<int> launch_detached(client::RemoteService& service, const cli::RunOptions& options,
                            const std::vector<service::Launch>& launches) {
  for (const service::Launch& each : launches) {
    const wire::InstanceReply instance = TRY(start_detached(service, each));
    const bool is_json = options.output == cli::OutputStyle::Json;
    print(is_json ? json_line({{"event", "launched"},
                               {"instance", instance.instance},
                               {"name", instance.name},
                               {"program", wire::program_text({instance.program, {}})}})
                  : std::to_string(instance.instance) + "\n");
  }
  const bool is_for_people = cli::Terminal::standard_error().interactive();
  if (is_for_people && options.output == cli::OutputStyle::Text) {
    print_note(
        "[it goes on without this client; quire ps lists programs, quire attach ID follows one]");
  }
  return cli::number(cli::ExitCode::Ok);
}

// Runs them to their ends.
Result<int> run_attached(RemoteRun& remote, const cli::RunOptions& options,
                         std::vector<service::Launch> launches) {
  const std::vector<FileToSend> files = TRY(open_files_to_send(options.sent_files));
  std::optional<ReceivedFiles> received = TRY(received_files(options.save_folder));
  Interrupt interrupt = TRY(Interrupt::create());
  RunClient printer(options.output, !options.each_file.empty(), std::move(received),
                    options.instance.log_level);
  const SteadyTime::time_point begin = SteadyTime::now();
  ProgramsRun run(remote.service(), printer, printer, std::move(launches), files);
  remote.watch(run, printer);
  if (const Result<void> ran = run.run(&interrupt); !ran.ok()) {
    if (ran.error().code() != ErrorCode::Cancelled) return ran.error().copy();
    printer.end_output_line();
    std::fputs("interrupted\n", stderr);
    return cli::number(cli::ExitCode::Interrupted);
  }
  const double duration_s = std::chrono::duration<double>(SteadyTime::now() - begin).count();
  print_totals(options.output, printer.totals(), duration_s);
  return printer.exit_code();
}

}  // namespace

Result<int> run_remote(const cli::RunOptions& given) {
  std::vector<Arguments> all = TRY(run_arguments(given));
  if (const Result<void> words = check_program_options(given); !words.ok()) {
    return fail_program(words.error());
  }
  // Mistakes in the user's files are reported before a connection is made.
  TRY(open_files_to_send(given.sent_files));
  const std::unique_ptr<RemoteRun> remote = TRY(RemoteRun::connect(given.server, given.key_file));
  const cli::RunOptions options = TRY(with_program(remote->service(), given));
  const bool is_brought = options.program != given.program;
  if (const Result<void> words = check_program_options(options); is_brought && !words.ok()) {
    return fail_program(words.error());
  }
  Result<service::ProgramName> program = bring_program(remote->service(), options.program);
  if (!program.ok()) {
    const bool is_no_module = program.error().code() == ErrorCode::InvalidArgument;
    return is_no_module ? fail_program(program.error()) : fail(program.error());
  }
  std::vector<service::Launch> launches =
      launches_of(options.launch, program.value(), std::move(all));
  for (service::Launch& each : launches) each.limits = limits_of(options.instance);
  TRY(check_launches(launches));
  if (options.launch.detaches) return launch_detached(remote->service(), options, launches);
  return run_attached(*remote, options, std::move(launches));
}

}  // namespace quire
