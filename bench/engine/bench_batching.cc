// `quire-bench batching`: the policies for batches against each other, on a simulated device with a
// GPU's cost curve and on this machine's CPU.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/json.h"
#include "bench/engine/bench_scheduling.h"
#include "bench/engine/raw_decode.h"
#include "bench/engine/token_streams.h"
#include "bench/machine/bench_streams.h"
#include "inference/devices/shared/device_cost_curve.h"
#include "main/machine/dispatch_policy.h"
#include "main/machine/machine.h"
#include "main/machine/simulated_machine.h"
#include "main/verbs/shared/output.h"

namespace quire {
namespace {

constexpr std::uint32_t kPromptTokensLeast = 16;
constexpr std::uint32_t kPromptTokensMost = 512;
constexpr std::uint64_t kStaggerNs = 2'000'000;  // Between two arrivals.
constexpr std::uint32_t kGainPromptTokens = 16;
constexpr std::uint32_t kGainTokens = 32;
constexpr const inference::DeviceCostCurve& kCurve = inference::kH100With8B;

// Instance i comes 2 ms after the one before it. The lengths of prompts are spread evenly from 16
// to 512 tokens, in an order that the round decides.
std::vector<StreamPlan> plans_of(const cli::BenchOptions& options, std::uint32_t vocabulary_size,
                                 std::uint32_t round) {
  const std::uint32_t count = options.streams.front();
  SeededRandom random(round + 1);
  std::vector<std::uint32_t> lengths;
  for (std::uint32_t each = 0; each < count; ++each) {
    lengths.push_back(kPromptTokensLeast +
                      (kPromptTokensMost - kPromptTokensLeast) * each / std::max(count - 1, 1u));
  }
  for (std::uint32_t each = count; each > 1; --each) {
    std::swap(lengths[each - 1], lengths[random.next() % each]);
  }
  std::vector<StreamPlan> plans;
  for (std::uint32_t each = 0; each < count; ++each) {
    plans.push_back({.arrives_ns = each * kStaggerNs,
                     .prompt = random_prompt(random, vocabulary_size, lengths[each]),
                     .token_count = options.decode_tokens});
  }
  return plans;
}

double requests_per_s(const std::vector<StreamTimes>& times) {
  std::uint64_t last_ns = 0;
  for (const StreamTimes& each : times) last_ns = std::max(last_ns, each.token_ns.back());
  return static_cast<double>(times.size()) /
         (static_cast<double>(last_ns - times.front().arrived_ns) * 1e-9);
}

Result<double> measure_simulated(const cli::BenchOptions& options,
                                 const cli::BatchingChoice& policy, std::uint32_t round) {
  ManualClock clock;
  const std::uint32_t count = options.streams.front();
  inference::SimulatedBackendOptions device{
      .page_count = count * ((kPromptTokensMost + options.decode_tokens) / 16 + 2),
      .sequence_count = count,
      .embed_slot_count = 4 * count};
  device.duration_ns = [](const inference::Batch& batch) { return kCurve.duration_ns(batch); };
  control::ControllerOptions control;
  control.dispatch = dispatch_policy(policy);
  SimulatedMachine machine(std::move(device), control, clock);
  std::uint64_t busy_until_ns = 0;  // 0: the device is free.
  TokenStreams streams(machine.control(), machine.answers(), clock, [&](std::uint64_t ns_max) {
    const std::uint64_t now_ns = clock.now_ns();
    if (machine.device().inflight_count() == 0) return clock.advance_ns(ns_max);
    // If the end of the batch is not noted yet, it was submitted in this turn.
    if (busy_until_ns == 0) busy_until_ns = now_ns + machine.device().next_duration_ns();
    const std::uint64_t left_ns = busy_until_ns - now_ns;
    clock.advance_ns(std::min(left_ns, ns_max));
    if (left_ns > ns_max) return;
    machine.device().complete_next();
    busy_until_ns = 0;
  });
  const std::vector<StreamTimes> times =
      TRY(streams.run(plans_of(options, inference::simulated_model().vocabulary_size, round)));
  return requests_per_s(times);
}

TokenStreams::Pause sleep_of(Machine& machine) {
  return [&machine](std::uint64_t ns_max) {
    machine.wakeup().wait_for(std::chrono::nanoseconds(ns_max));
  };
}

Result<double> measure_cpu(const cli::BenchOptions& options, const cli::BatchingChoice& policy,
                           std::uint32_t round) {
  const SteadyClock clock;
  cli::EngineOptions engine = options.engine;
  engine.batching = policy;
  const std::unique_ptr<Machine> machine = TRY(Machine::build(engine, clock));
  TokenStreams streams(machine->control(), machine->answers(), clock, sleep_of(*machine));
  const std::vector<StreamTimes> times =
      TRY(streams.run(plans_of(options, machine->model().vocabulary_size, round)));
  return requests_per_s(times);
}

// Tokens a second of so many streams that decode side by side, prompts left out.
Result<double> decode_rate(const cli::BenchOptions& options, std::uint32_t count) {
  const SteadyClock clock;
  const std::unique_ptr<Machine> machine = TRY(Machine::build(options.engine, clock));
  SeededRandom random(count);
  std::vector<StreamPlan> plans;
  for (std::uint32_t each = 0; each < count; ++each) {
    plans.push_back(
        {.prompt = random_prompt(random, machine->model().vocabulary_size, kGainPromptTokens),
         .token_count = kGainTokens + 1});
  }
  TokenStreams streams(machine->control(), machine->answers(), clock, sleep_of(*machine));
  const std::vector<StreamTimes> times = TRY(streams.run(plans));
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;
  for (const StreamTimes& each : times) begin_ns = std::max(begin_ns, each.token_ns.front());
  double tokens = 0;
  for (const StreamTimes& each : times) {
    end_ns = std::max(end_ns, each.token_ns.back());
    tokens += static_cast<double>(std::count_if(each.token_ns.begin(), each.token_ns.end(),
                                                [&](auto at_ns) { return at_ns > begin_ns; }));
  }
  return tokens / (static_cast<double>(end_ns - begin_ns) * 1e-9);
}

// The rates of one stream and of many, by hand and through the engine. Their quotient is the gain.
struct Gain {
  Spread raw_one, raw_many, engine_one, engine_many;
  double raw() const { return raw_many.median / raw_one.median; }
  double engine() const { return engine_many.median / engine_one.median; }
};

Result<Gain> measure_gain(const cli::BenchOptions& options) {
  const SteadyClock clock;
  const std::uint32_t count = options.streams.front();
  std::vector<double> raw_one, raw_many, engine_one, engine_many;
  for (std::uint32_t round = 0; round < options.repetitions; ++round) {
    for (const std::uint32_t streams : {1u, count}) {
      const RawDecode wanted{
          .stream_count = streams, .prompt_tokens = kGainPromptTokens, .token_count = kGainTokens};
      (streams == 1 ? raw_one : raw_many)
          .push_back(TRY(raw_decode_rate(options.engine, wanted, clock)));
      (streams == 1 ? engine_one : engine_many).push_back(TRY(decode_rate(options, streams)));
    }
  }
  return Gain{spread_of(raw_one), spread_of(raw_many), spread_of(engine_one),
              spread_of(engine_many)};
}

struct PolicyFigures {
  cli::NamedBatching policy;
  std::vector<double> requests_per_s;  // Of each round.
};

using Measure = Result<double> (*)(const cli::BenchOptions&, const cli::BatchingChoice&,
                                   std::uint32_t round);

// Every policy in turn, and that as often as there are rounds.
Result<std::vector<PolicyFigures>> measure_all(const cli::BenchOptions& options,
                                               const std::vector<cli::NamedBatching>& policies,
                                               Measure measure) {
  std::vector<PolicyFigures> all;
  for (const cli::NamedBatching& each : policies) all.push_back({each, {}});
  for (std::uint32_t round = 0; round < options.repetitions; ++round) {
    for (PolicyFigures& each : all) {
      each.requests_per_s.push_back(TRY(measure(options, each.policy.choice, round)));
    }
  }
  return all;
}

void tell(const std::vector<PolicyFigures>& all, const char* device, bool is_text,
          nlohmann::json& results) {
  const double first = spread_of(all.front().requests_per_s).median;
  for (const PolicyFigures& each : all) {
    const Spread spread = spread_of(each.requests_per_s);
    results.push_back({{"policy", each.policy.name},
                       {"device", device},
                       {"requests_per_s", spread.median},
                       {"least", spread.least},
                       {"most", spread.most}});
    if (!is_text) continue;
    char line[160];
    std::snprintf(line, sizeof line, "%-10s %-12s %10.2f  (%.2f to %.2f) %10.2f\n", device,
                  each.policy.name.c_str(), spread.median, spread.least, spread.most,
                  spread.median / first);
    print(line);
  }
}

}  // namespace

Result<void> bench_batching(const cli::BenchOptions& options) {
  const bool is_text = options.output == cli::OutputStyle::Text;
  nlohmann::json json = {{"instances", options.streams.front()},
                         {"tokens", options.decode_tokens},
                         {"rounds", options.repetitions},
                         {"results", nlohmann::json::array()}};
  if (is_text) {
    print(std::to_string(options.streams.front()) +
          " instances 2 ms apart, prompts of 16 to 512 "
          "tokens, " +
          std::to_string(options.decode_tokens) + " tokens each, " +
          std::to_string(options.repetitions) + " rounds\n" +
          "device     policy       requests/s  (least to most)   over the first\n");
  }
  if (options.device != cli::BenchDevice::Cpu) {
    json["simulated_device"] = kCurve.name;
    tell(TRY(measure_all(options, options.simulated_policies, measure_simulated)), "simulated",
         is_text, json["results"]);
  }
  if (options.device != cli::BenchDevice::Simulated) {
    tell(TRY(measure_all(options, options.cpu_policies, measure_cpu)), "cpu", is_text,
         json["results"]);
    const Gain gain = TRY(measure_gain(options));
    json["cpu_gain"] = {{"raw", gain.raw()},
                        {"engine", gain.engine()},
                        {"share", gain.engine() / gain.raw()},
                        {"raw_tokens_per_s", {gain.raw_one.median, gain.raw_many.median}},
                        {"engine_tokens_per_s", {gain.engine_one.median, gain.engine_many.median}}};
    if (is_text) {
      print("decoding, 1 to " + std::to_string(options.streams.front()) +
            " streams: the device by " + "hand gains " + decimal(gain.raw(), 2) + " (" +
            decimal(gain.raw_one.median, 0) + " to " + decimal(gain.raw_many.median, 0) +
            " tokens/s), through the engine " + decimal(gain.engine(), 2) + " (" +
            decimal(gain.engine_one.median, 0) + " to " + decimal(gain.engine_many.median, 0) +
            "): " + decimal(gain.engine() / gain.raw() * 100, 1) + " %\n");
    }
  }
  if (is_text && options.device != cli::BenchDevice::Cpu) {
    print("simulated: the production control layer on the cost curve of " +
          std::string(kCurve.name) + "; time is simulated too\n");
  }
  if (!is_text) print(dump_json(json) + "\n");
  return {};
}

}  // namespace quire
