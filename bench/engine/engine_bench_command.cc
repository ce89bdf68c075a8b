#include "bench/engine/engine_bench_command.h"

#include "base/check.h"
#include "bench/engine/bench_contexts.h"
#include "bench/engine/bench_scheduling.h"
#include "cli/exit_code.h"
#include "main/verbs/pages/page_report.h"
#include "main/verbs/shared/output.h"

namespace quire {
namespace {

Result<void> measure(const cli::BenchOptions& options) {
  if (!options.kv_report_file.empty()) TRY(check_report_file(options.kv_report_file));
  switch (options.kind) {
    case cli::BenchKind::Restore:
      return bench_restore(options);
    case cli::BenchKind::Pressure:
      return bench_pressure(options);
    case cli::BenchKind::Sink:
      return bench_sink(options);
    case cli::BenchKind::Batching:
      return bench_batching(options);
    case cli::BenchKind::Scheduler:
      return bench_scheduler(options);
    case cli::BenchKind::Arrival:
      return bench_arrival(options);
    case cli::BenchKind::Constraint:
      return bench_constraint(options);
    case cli::BenchKind::Overhead:
      return bench_overhead(options);
    case cli::BenchKind::Calls:
      return bench_calls(options);
    case cli::BenchKind::Kv:
    case cli::BenchKind::Generate:
      break;
  }
  QUIRE_CHECK(false, "a measurement of bench_command()");
}

}  // namespace

int engine_bench_command(const cli::BenchOptions& options) {
  const Result<void> done = measure(options);
  return done.ok() ? cli::number(cli::ExitCode::Ok) : fail(done.error());
}

}  // namespace quire
