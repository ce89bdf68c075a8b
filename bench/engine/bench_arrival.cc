// `quire-bench arrival`: a long prompt arrives among streams that decode.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/json.h"
#include "bench/engine/bench_scheduling.h"
#include "bench/engine/token_streams.h"
#include "bench/machine/bench_streams.h"
#include "main/machine/machine.h"
#include "main/verbs/shared/output.h"

namespace quire {
namespace {

constexpr std::uint32_t kDecodingPromptTokens = 16;
constexpr std::uint32_t kTokensBefore = 64;   // Of each stream, until the prompt arrives;
constexpr std::uint32_t kTokensSettling = 8;  // the first of them are not counted.

// Times between tokens, in milliseconds.
struct Intervals {
  double median_ms = 0;
  double p99_ms = 0;
  double most_ms = 0;
  std::size_t count = 0;
};

Intervals intervals_of(const std::vector<double>& ms) {
  if (ms.empty()) return {};
  return {percentile(ms, 0.5), percentile(ms, 0.99), *std::max_element(ms.begin(), ms.end()),
          ms.size()};
}

struct ArrivalFigures {
  Intervals before;   // The prompt arrives.
  Intervals without;  // The same tokens as `with`, in a run in which no prompt arrives.
  Intervals with;
  double first_token_s = 0;  // Of the long prompt.
};

std::vector<StreamPlan> stream_plans(const cli::BenchOptions& options, Machine& machine,
                                     std::uint32_t round) {
  SeededRandom random(round + 1);
  std::vector<StreamPlan> plans;
  for (std::uint32_t each = 0; each < options.streams.front(); ++each) {
    plans.push_back(
        {.prompt = random_prompt(random, machine.model().vocabulary_size, kDecodingPromptTokens),
         .token_count = machine.model().context_length - kDecodingPromptTokens});
  }
  return plans;
}

// Milliseconds from one token to the next, for the tokens of `times` from `first` on, before `end`.
void add_intervals(const StreamTimes& times, std::size_t first, std::size_t end,
                   std::vector<double>& ms) {
  for (std::size_t token = first; token < end; ++token) {
    ms.push_back(static_cast<double>(times.token_ns[token] - times.token_ns[token - 1]) * 1e-6);
  }
}

Result<ArrivalFigures> measure(const cli::BenchOptions& options, std::uint32_t round) {
  const SteadyClock clock;
  const std::unique_ptr<Machine> machine = TRY(Machine::build(options.engine, clock));
  const std::uint32_t count = options.streams.front();
  TokenStreams streams(machine->control(), machine->answers(), clock, [&](std::uint64_t ns_max) {
    machine->wakeup().wait_for(std::chrono::nanoseconds(ns_max));
  });
  std::vector<StreamPlan> plans = stream_plans(options, *machine, round);
  for (StreamPlan& plan : plans) plan.ends_with = count;
  SeededRandom random(round + 1'000'000);
  plans.push_back(
      {.prompt = random_prompt(random, machine->model().vocabulary_size, options.prompt_tokens),
       .arrives_at_token = std::uint64_t{count} * kTokensBefore});
  const std::vector<StreamTimes> with = TRY(streams.run(plans));
  plans = stream_plans(options, *machine, round);
  for (std::uint32_t each = 0; each < count; ++each) {
    plans[each].token_count = static_cast<std::uint32_t>(with[each].token_ns.size());
  }
  const std::vector<StreamTimes> without = TRY(streams.run(plans));

  const std::uint64_t arrived_ns = with.back().arrived_ns;
  std::vector<double> before_ms, without_ms, with_ms;
  for (std::uint32_t each = 0; each < count; ++each) {
    const std::vector<std::uint64_t>& at = with[each].token_ns;
    const auto arrival =
        static_cast<std::size_t>(std::ranges::upper_bound(at, arrived_ns) - at.begin());
    const std::size_t first = std::max<std::size_t>(arrival, kTokensSettling);
    add_intervals(with[each], kTokensSettling, first, before_ms);
    add_intervals(with[each], first, at.size(), with_ms);
    add_intervals(without[each], first, at.size(), without_ms);
  }
  return ArrivalFigures{intervals_of(before_ms), intervals_of(without_ms), intervals_of(with_ms),
                        static_cast<double>(with.back().token_ns.front() - arrived_ns) * 1e-9};
}

nlohmann::json json_of(const Intervals& intervals) {
  return {{"median_ms", intervals.median_ms},
          {"p99_ms", intervals.p99_ms},
          {"most_ms", intervals.most_ms},
          {"count", intervals.count}};
}

}  // namespace

Result<void> bench_arrival(const cli::BenchOptions& options) {
  const bool is_text = options.output == cli::OutputStyle::Text;
  nlohmann::json rows = nlohmann::json::array();
  if (is_text) {
    print(std::to_string(options.streams.front()) + " streams decode; a prompt of " +
          std::to_string(options.prompt_tokens) +
          " tokens arrives. Times between tokens, ms:\n"
          "   before: median   without: median     p99   with: median     p99    most"
          "   p99 with / median without   first token s\n");
  }
  std::vector<double> ratios;
  for (std::uint32_t round = 0; round < options.repetitions; ++round) {
    const ArrivalFigures figures = TRY(measure(options, round));
    ratios.push_back(figures.with.p99_ms / figures.without.median_ms);
    rows.push_back({{"before", json_of(figures.before)},
                    {"without", json_of(figures.without)},
                    {"with", json_of(figures.with)},
                    {"ratio", ratios.back()},
                    {"first_token_s", figures.first_token_s}});
    if (!is_text) continue;
    char line[200];
    std::snprintf(line, sizeof line, "%17.1f %17.1f %7.1f %14.1f %7.1f %7.1f %27.2f %15.2f\n",
                  figures.before.median_ms, figures.without.median_ms, figures.without.p99_ms,
                  figures.with.median_ms, figures.with.p99_ms, figures.with.most_ms, ratios.back(),
                  figures.first_token_s);
    print(line);
  }
  const Spread ratio = spread_of(ratios);
  if (is_text) {
    print("p99 with the prompt over the median without: " + decimal(ratio.median, 2) + " (" +
          decimal(ratio.least, 2) + " to " + decimal(ratio.most, 2) + ")\n");
  } else {
    print(dump_json(nlohmann::json{{"streams", options.streams.front()},
                                   {"prompt_tokens", options.prompt_tokens},
                                   {"ratio", ratio.median},
                                   {"results", rows}}) +
          "\n");
  }
  return {};
}

}  // namespace quire
