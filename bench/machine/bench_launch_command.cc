#include "bench/machine/bench_launch_command.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <span>
#include <thread>

#include "application/server/server.h"
#include "base/file.h"
#include "base/random.h"
#include "bench/machine/bench_streams.h"
#include "bench/machine/launch_load.h"
#include "main/machine/application.h"
#include "main/machine/machine.h"
#include "main/verbs/make/program_files.h"
#include "main/verbs/shared/kv_text.h"
#include "main/verbs/shared/open_files.h"
#include "main/verbs/shared/output.h"

namespace quire {
namespace {

constexpr std::uint64_t kOtherFileCount = 768;  // Open files that are not connections.
// Few launches at once are repeated until there are about so many, so that a p99 means something.
constexpr std::uint32_t kWarmLaunchCount = 1000;
constexpr std::uint32_t kColdLaunchCount = 100;
constexpr std::uint32_t kRepetitionsMost = 200;

struct Row {
  std::uint32_t simultaneous = 0;
  const char* mode = "";
  std::size_t launch_count = 0;
  double p50_ms = 0.0;
  double p99_ms = 0.0;
  double replied_p50_ms = 0.0;
  double replied_p99_ms = 0.0;
  double first_p50_ms = 0.0;  // Of the first round, which the others leave out.
  double first_p99_ms = 0.0;
};

Row row_of(std::uint32_t simultaneous, const char* mode, const LaunchTimes& first,
           const LaunchTimes& times) {
  return {simultaneous,
          mode,
          times.acknowledged_ms.size(),
          percentile(times.acknowledged_ms, 0.50),
          percentile(times.acknowledged_ms, 0.99),
          percentile(times.replied_ms, 0.50),
          percentile(times.replied_ms, 0.99),
          percentile(first.acknowledged_ms, 0.50),
          percentile(first.acknowledged_ms, 0.99)};
}

std::uint32_t repetitions_of(const cli::BenchLaunchOptions& options, std::uint32_t simultaneous,
                             std::uint32_t launch_count) {
  return std::clamp(launch_count / simultaneous, options.repetitions, kRepetitionsMost);
}

using Round = Result<void> (LaunchLoad::*)(std::size_t count, LaunchTimes& times);

// The first round is told apart: slots, stacks and heap that no program has had before come from
// the kernel page by page, once in a server's life.
Result<Row> measure(LaunchLoad& load, Round round, const char* mode, std::uint32_t simultaneous,
                    std::uint32_t repetitions) {
  LaunchTimes first;
  TRY((load.*round)(simultaneous, first));
  LaunchTimes times;
  for (std::uint32_t each = 0; each < repetitions; ++each) {
    TRY((load.*round)(simultaneous, times));
  }
  return row_of(simultaneous, mode, first, times);
}

void print_row(const Row& row) {
  char line[160];
  std::snprintf(line, sizeof line, "%-14s %12u %9zu %8.2f %8.2f %8.2f %8.2f %8.2f %8.2f\n",
                row.mode, row.simultaneous, row.launch_count, row.p50_ms, row.p99_ms,
                row.replied_p50_ms, row.replied_p99_ms, row.first_p50_ms, row.first_p99_ms);
  print(line);
}

nlohmann::json json_of(const Row& row) {
  return {{"simultaneous", row.simultaneous},
          {"mode", row.mode},
          {"p50_ms", row.p50_ms},
          {"p99_ms", row.p99_ms},
          {"replied_p50_ms", row.replied_p50_ms},
          {"replied_p99_ms", row.replied_p99_ms},
          {"first_p50_ms", row.first_p50_ms},
          {"first_p99_ms", row.first_p99_ms},
          {"launches", row.launch_count}};
}

// From the clients' thread.
Result<std::vector<Row>> measure_all(const cli::BenchLaunchOptions& options,
                                     const wire::Endpoint& endpoint, std::string wasm,
                                     std::uint32_t connection_count) {
  const std::unique_ptr<LaunchLoad> load =
      TRY(LaunchLoad::connect(endpoint, connection_count, std::move(wasm), options.arguments));
  LaunchTimes first;
  TRY(load->warm(1, first));
  std::vector<Row> rows;
  const auto add = [&](Result<Row> row) -> Result<void> {
    if (!row.ok()) return std::move(row).take_error();
    rows.push_back(row.value());
    if (options.output == cli::OutputStyle::Text) print_row(rows.back());
    return {};
  };
  for (const std::uint32_t count : options.simultaneous) {
    TRY(add(measure(*load, &LaunchLoad::warm, "warm", count,
                    repetitions_of(options, count, kWarmLaunchCount))));
  }
  for (const std::uint32_t count : options.simultaneous) {
    TRY(add(measure(*load, &LaunchLoad::cold, "cold", count,
                    repetitions_of(options, count, kColdLaunchCount))));
  }
  if (options.program_count > 0) {
    TRY(add(measure(*load, &LaunchLoad::cold_different, "cold-different", options.program_count,
                    options.repetitions)));
  }
  return rows;
}

Result<void> bench_launch(const cli::BenchLaunchOptions& options) {
  std::string wasm = TRY(read_file(options.program, kProgramBytesMax));
  std::uint32_t most = std::max(options.program_count, 1u);
  for (const std::uint32_t each : options.simultaneous) most = std::max(most, each);
  const std::uint64_t needed = 2 * std::uint64_t{most} + kOtherFileCount;  // Both ends are here.
  if (const std::uint64_t files = allow_open_files(needed); files < needed) {
    return Error(ErrorCode::QuotaExceeded, std::to_string(most) + " at once need " +
                                               std::to_string(needed) +
                                               " open files, this process may have " +
                                               std::to_string(files) + " (ulimit -n)");
  }
  const SteadyClock clock;
  SystemRandom random;
  const SystemWallClock wall_clock;
  const std::unique_ptr<Machine> machine = TRY(Machine::build(options.engine, clock));
  const std::unique_ptr<Application> application = TRY(Application::build(
      *machine, clock, {.instance_count_max = most, .compile = sandbox::CompileLimits()}));
  server::ServerOptions serving;
  serving.sockets.connection_count_max = most;
  const std::unique_ptr<server::Server> server =
      TRY(server::Server::open({.manager = application->manager(),
                                .loop = application->loop(),
                                .control = machine->control(),
                                .engine_wakeup = machine->wakeup(),
                                .clock = clock,
                                .random = random,
                                .wall_clock = wall_clock,
                                .tell = [](const server::LogEvent&) {}},
                               serving));
  // Warm is what an operator's program is: compiled with all effort.
  Result<lifecycle::ProgramId> program =
      application->manager().load_program(std::as_bytes(std::span(wasm)));
  if (!program.ok()) return std::move(program).take_error().while_(options.program);
  if (options.output == cli::OutputStyle::Text) {
    print(
        "                                        to the message      to the reply    in round one\n"
        "mode           simultaneous  launches   p50 ms   p99 ms   p50 ms   p99 ms   p50 ms   p99 "
        "ms\n");
  }
  Result<std::vector<Row>> rows = std::vector<Row>();
  std::thread clients([&] {
    rows = measure_all(options, server->endpoint(), std::move(wasm), most);
    server->gateway().request_shutdown();
    server->gateway().request_shutdown();  // At once.
  });
  application->loop().run();
  clients.join();
  if (!rows.ok()) return std::move(rows).take_error();
  if (options.output == cli::OutputStyle::Text) {
    print(
        "from the request (cold: from the first byte of the upload) to the program's first "
        "message, each on a\nconnection of its own; reply: to the server's word that it is "
        "launched; round one: the first of the row,\nwhich the other figures leave out\n");
    return {};
  }
  nlohmann::json json = {{"results", nlohmann::json::array()}};
  for (const Row& each : rows.value()) json["results"].push_back(json_of(each));
  print(json_line(json));
  return {};
}

}  // namespace

int bench_launch_command(const cli::BenchLaunchOptions& options) {
  const Result<void> done = bench_launch(options);
  return done.ok() ? cli::number(cli::ExitCode::Ok) : fail(done.error());
}

}  // namespace quire
