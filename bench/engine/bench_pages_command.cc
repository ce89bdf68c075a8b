#include "bench/engine/bench_pages_command.h"

#include <time.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "bench/engine/page_timings.h"
#include "bench/engine/trace_file.h"
#include "main/machine/eviction_kind.h"
#include "main/verbs/shared/output.h"

namespace quire {
namespace {

void bench_times(const cli::BenchPagesOptions& options) {
  const std::vector<PageTiming> timings = time_pages(ThreadClock());
  if (options.output == cli::OutputStyle::Json) {
    nlohmann::json json;
    for (const PageTiming& timing : timings) {
      json[timing.key] = timing.median;
      json["least"][timing.key] = timing.least;
    }
    print(dump_json(json) + "\n");
    return;
  }
  for (const PageTiming& timing : timings) {
    const std::string space(20 - std::min<std::size_t>(19, timing.key.size()), ' ');
    print(timing.key + space + decimal(timing.median, 2) + ", at best " + decimal(timing.least, 2) +
          "; at most " + decimal(timing.limit, 1) + (timing.is_ratio ? " times 1x" : "") + ": " +
          timing.meaning + "\n");
  }
}

Result<void> bench_pages(const cli::BenchPagesOptions& options) {
  if (options.trace.empty()) {
    bench_times(options);
    return {};
  }
  const control::Trace trace = TRY(read_trace(options.trace));
  const control::ReplayOptions replay{.policy = eviction_kind(options.policy),
                                      .capacity = options.capacity,
                                      .hints_from_future = options.hints_from_future,
                                      .from = options.from,
                                      .to = options.to,
                                      .is_cold_start = options.is_cold_start};
  const control::ReplayResult result = TRY(control::replay_trace(trace, replay));
  const std::string policy(control::name_of(replay.policy));
  if (options.output == cli::OutputStyle::Json) {
    const nlohmann::json json = {{"hit_rate", result.hit_rate()},
                                 {"policy", policy},
                                 {"capacity", options.capacity},
                                 {"hints", options.hints_from_future ? "future" : "none"},
                                 {"from", options.from},
                                 {"to", options.to},
                                 {"start", options.is_cold_start ? "cold" : "warm"},
                                 {"request_count", result.request_count},
                                 {"block_count", result.block_count},
                                 {"hit_count", result.hit_count},
                                 {"eviction_count", result.eviction_count}};
    print(dump_json(json) + "\n");
    return {};
  }
  const auto row = [](const std::string& name, const std::string& value) {
    print(name + std::string(name.size() < 12 ? 12 - name.size() : 1, ' ') + value + "\n");
  };
  row("policy", policy + (options.hints_from_future ? ", told the future" : ""));
  row("capacity", std::to_string(options.capacity) + " blocks");
  row("requests", std::to_string(result.request_count));
  row("blocks", std::to_string(result.block_count));
  row("hits", std::to_string(result.hit_count));
  row("evictions", std::to_string(result.eviction_count));
  row("hit rate", decimal(result.hit_rate(), 2) + " %");
  return {};
}

}  // namespace

int bench_pages_command(const cli::BenchPagesOptions& options) {
  const Result<void> done = bench_pages(options);
  return done.ok() ? cli::number(cli::ExitCode::Ok) : fail(done.error());
}

}  // namespace quire
