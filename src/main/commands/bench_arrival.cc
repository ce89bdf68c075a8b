// `quire bench arrival`: a long prompt arrives among streams that decode.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "main/commands/bench_scheduling.h"
#include "main/commands/bench_streams.h"
#include "main/commands/output.h"
#include "main/commands/token_streams.h"
#include "main/machine/machine.h"

namespace quire {
namespace {

constexpr std::uint32_t kStreamPromptTokens = 16;
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
  Intervals without;
  Intervals with;
  double first_token_s = 0;  // Of the long prompt.
};

Result<ArrivalFigures> measure(const cli::BenchOptions& options, std::uint32_t round) {
  const SteadyClock clock;
  const std::unique_ptr<Machine> machine = TRY(Machine::build(options.engine, clock));
  const std::uint32_t count = options.streams.front();
  const std::uint32_t vocabulary = machine->model().vocabulary_size;
  SeededRandom random(round + 1);
  std::vector<StreamPlan> plans;
  for (std::uint32_t each = 0; each < count; ++each) {
    plans.push_back({.prompt = random_prompt(random, vocabulary, kStreamPromptTokens),
                     .token_count = machine->model().context_length - kStreamPromptTokens,
                     .ends_with = count});
  }
  plans.push_back({.prompt = random_prompt(random, vocabulary, options.prompt_tokens),
                   .arrives_at_token = std::uint64_t{count} * kTokensBefore});
  TokenStreams streams(machine->control(), machine->answers(), clock, [&](std::uint64_t ns_max) {
    machine->wakeup().wait_for(std::chrono::nanoseconds(ns_max));
  });
  const std::vector<StreamTimes> times = TRY(streams.run(plans));
  const std::uint64_t arrived_ns = times.back().arrived_ns;
  std::vector<double> without;
  std::vector<double> with;
  for (std::uint32_t each = 0; each < count; ++each) {
    const std::vector<std::uint64_t>& at = times[each].token_ns;
    for (std::size_t token = kTokensSettling; token < at.size(); ++token) {
      const double ms = static_cast<double>(at[token] - at[token - 1]) * 1e-6;
      (at[token] <= arrived_ns ? without : with).push_back(ms);
    }
  }
  return ArrivalFigures{intervals_of(without), intervals_of(with),
                        static_cast<double>(times.back().token_ns.front() - arrived_ns) * 1e-9};
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
          "   without: median     p99   with: median     p99    most   p99 with / median without"
          "   first token s\n");
  }
  std::vector<double> ratios;
  for (std::uint32_t round = 0; round < options.repetitions; ++round) {
    const ArrivalFigures figures = TRY(measure(options, round));
    ratios.push_back(figures.with.p99_ms / figures.without.median_ms);
    rows.push_back({{"without", json_of(figures.without)},
                    {"with", json_of(figures.with)},
                    {"ratio", ratios.back()},
                    {"first_token_s", figures.first_token_s}});
    if (!is_text) continue;
    char line[200];
    std::snprintf(line, sizeof line, "%18.1f %7.1f %14.1f %7.1f %7.1f %19.2f %21.2f\n",
                  figures.without.median_ms, figures.without.p99_ms, figures.with.median_ms,
                  figures.with.p99_ms, figures.with.most_ms, ratios.back(), figures.first_token_s);
    print(line);
  }
  const Spread ratio = spread_of(ratios);
  if (is_text) {
    print("p99 with the prompt over the median without: " + decimal(ratio.median, 2) + " (" +
          decimal(ratio.least, 2) + " to " + decimal(ratio.most, 2) + ")\n");
  } else {
    print(nlohmann::json{{"streams", options.streams.front()},
                         {"prompt_tokens", options.prompt_tokens},
                         {"ratio", ratio.median},
                         {"results", rows}}
              .dump() +
          "\n");
  }
  return {};
}

}  // namespace quire
