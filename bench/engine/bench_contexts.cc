#include "bench/engine/bench_contexts.h"

#include <nlohmann/json.hpp>
#include <string>

#include "base/json.h"
#include "bench/engine/context_scenarios.h"
#include "bench/machine/bench_streams.h"
#include "main/verbs/shared/output.h"

namespace quire {
namespace {

nlohmann::json spread_json(const Spread& spread) {
  return {{"median", spread.median}, {"least", spread.least}, {"most", spread.most}};
}

void print_line(const std::string& name, const std::string& value) {
  print(name + std::string(name.size() < 26 ? 26 - name.size() : 1, ' ') + value + "\n");
}

std::string seconds_text(const Spread& spread) {
  return decimal(spread.median * 1e3, 1) + " ms (" + decimal(spread.least * 1e3, 1) + " to " +
         decimal(spread.most * 1e3, 1) + ")";
}

}  // namespace

Result<void> bench_restore(const cli::BenchOptions& options) {
  const RestoreTimes times = TRY(time_restore(options));
  const Spread computed = spread_of(times.recompute_s);
  const Spread cold = spread_of(times.restore_cold_s);
  const Spread warm = spread_of(times.restore_warm_s);
  if (options.output == cli::OutputStyle::Json) {
    const nlohmann::json json = {{"tokens", options.tokens},
                                 {"recompute_s", spread_json(computed)},
                                 {"restore_cold_s", spread_json(cold)},
                                 {"restore_warm_s", spread_json(warm)},
                                 {"speedup_cold", computed.median / cold.median},
                                 {"speedup_warm", computed.median / warm.median},
                                 {"file_cache_share", times.cached_share},
                                 {"store_bytes", times.store_bytes}};
    print(dump_json(json) + "\n");
    return {};
  }
  print(std::to_string(options.tokens) + " tokens, " + std::to_string(options.repetitions) +
        " times in turn; the logits behind them are equal bit for bit\n");
  print_line("computed", seconds_text(computed));
  print_line(
      "from disk, cache cold",
      seconds_text(cold) + ", " + decimal(computed.median / cold.median, 1) + " times as fast");
  print_line(
      "from disk, cache warm",
      seconds_text(warm) + ", " + decimal(computed.median / warm.median, 1) + " times as fast");
  print("cold: the store's " + decimal(static_cast<double>(times.store_bytes) / (1 << 20), 1) +
        " MiB were put out of the file cache; " + decimal(times.cached_share * 100, 1) +
        " % of them were in it when the engine began\n");
  return {};
}

Result<void> bench_pressure(const cli::BenchOptions& options) {
  const PressureTimes times = TRY(time_pressure(options));
  const Spread roomy = spread_of(times.roomy_s);
  const Spread tight = spread_of(times.tight_s);
  const std::uint32_t count = options.streams.front();
  if (options.output == cli::OutputStyle::Json) {
    const nlohmann::json json = {{"conversations", count},
                                 {"prompt_tokens", options.prompt_tokens},
                                 {"decode_tokens", options.decode_tokens},
                                 {"roomy_page_count", times.roomy_page_count},
                                 {"tight_page_count", times.tight_page_count},
                                 {"roomy_s", spread_json(roomy)},
                                 {"tight_s", spread_json(tight)},
                                 {"ratio", tight.median / roomy.median},
                                 {"suspension_count", times.suspension_count},
                                 {"lost_token_count", times.lost_token_count}};
    print(dump_json(json) + "\n");
    return {};
  }
  print(std::to_string(count) + " conversations at once, " + std::to_string(options.prompt_tokens) +
        " + " + std::to_string(options.decode_tokens) +
        " tokens each; their tokens are equal in both pools\n");
  print_line(std::to_string(times.roomy_page_count) + " pages hold all", seconds_text(roomy));
  print_line(
      std::to_string(times.tight_page_count) + " pages, a quarter",
      seconds_text(tight) + ", " + decimal(tight.median / roomy.median, 2) + " times as long");
  print("contexts suspended " + std::to_string(times.suspension_count) + " times; " +
        std::to_string(times.lost_token_count) + " tokens computed again\n");
  return {};
}

Result<void> bench_sink(const cli::BenchOptions& options) {
  const SinkTimes times = TRY(time_sink(options));
  if (options.output == cli::OutputStyle::Json) {
    const nlohmann::json json = {{"tokens", options.tokens},
                                 {"sink", times.sink},
                                 {"window", times.window},
                                 {"token_ms_by_fifth", times.token_ms},
                                 {"page_count_least", times.page_count_least},
                                 {"page_count_most", times.page_count_most}};
    print(dump_json(json) + "\n");
    return {};
  }
  print(std::to_string(options.tokens) + " tokens behind a sink of " + std::to_string(times.sink) +
        " and a window of " + std::to_string(times.window) + "\n");
  print_line("pages after warm-up", std::to_string(times.page_count_least) + " to " +
                                        std::to_string(times.page_count_most));
  std::string fifths;
  for (const double each : times.token_ms)
    fifths += (fifths.empty() ? "" : ", ") + decimal(each, 3);
  print_line("ms a token, by fifth", fifths);
  return {};
}

}  // namespace quire
