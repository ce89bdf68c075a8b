// `quire bench scheduler`: time of the scheduler per step against how many streams decode.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "main/commands/bench_scheduling.h"
#include "main/commands/bench_streams.h"
#include "main/commands/output.h"
#include "main/machine/simulated_machine.h"

namespace quire {
namespace {

constexpr std::uint32_t kPromptTokensEach = 16;
constexpr std::uint32_t kWarmUpSteps = 20;
constexpr std::uint32_t kSteps = 200;
constexpr double kBudgetUs = 5.0;  // DESIGN 10: 5 us + 0.1 us for each request.
constexpr double kBudgetUsPerRequest = 0.1;

struct StepTimes {
  Spread build_us;     // From "the device is free" to a batch submitted.
  Spread complete_us;  // Of taking in what it did, up to the last answer.
};

// One stream: a context that grows by a token a step.
struct Stream {
  control::InstanceId instance{};
  std::uint32_t future = 0;
};
constexpr control::ObjectId kQueue{1};
constexpr control::ObjectId kContext{2};
constexpr control::ObjectId kOutput{3};

void ask(control::ControlPort& control, Stream& stream, std::vector<std::uint32_t> tokens) {
  const auto tell = [&](control::CommandBody body) {
    control.submit({stream.instance, control::kNoFuture, std::move(body)});
  };
  tell(control::ContextAppend{.context = kContext, .tokens = std::move(tokens)});
  tell(control::ContextForward{.context = kContext, .output_embeds = {kOutput}});
  control.submit({stream.instance, control::FutureId{++stream.future},
                  control::GetNextDist{.queue = kQueue, .embed = kOutput, .top_k = 1}});
}

StepTimes measure(std::uint32_t stream_count) {
  const SteadyClock clock;
  const std::uint32_t pages_each = (kPromptTokensEach + kWarmUpSteps + kSteps) / 16 + 2;
  inference::SimulatedBackendOptions device{.page_count = pages_each * stream_count,
                                            .sequence_count = stream_count,
                                            .embed_slot_count = 4 * stream_count,
                                            .row_count_max = kPromptTokensEach * stream_count};
  SimulatedMachine machine(std::move(device), {}, clock);
  control::ControlPort& control = machine.control();
  SeededRandom random(stream_count);
  std::vector<Stream> streams(stream_count);
  for (std::uint32_t each = 0; each < stream_count; ++each) {
    streams[each].instance = control::InstanceId{each + 1};
    control.start_instance(streams[each].instance, control::TenantId{0}, {});
    const auto tell = [&](control::CommandBody body) {
      control.submit({streams[each].instance, control::kNoFuture, std::move(body)});
    };
    tell(control::CreateQueue{.queue = kQueue});
    tell(control::ContextCreate{.context = kContext, .queue = kQueue});
    tell(control::AllocEmbeds{.queue = kQueue, .embeds = {kOutput}});
    ask(control, streams[each], random_prompt(random, 512, kPromptTokensEach));
  }
  std::vector<double> build_us;
  std::vector<double> complete_us;
  for (std::uint32_t step = 0; step < kWarmUpSteps + kSteps; ++step) {
    const std::uint64_t before_ns = control.statistics().scheduler_ns;
    control.dispatch();
    const std::uint64_t built_ns = control.statistics().scheduler_ns;
    machine.device().complete_next();
    const std::uint64_t start_ns = clock.now_ns();
    control.poll();
    const std::uint64_t end_ns = clock.now_ns();
    std::vector<control::Answer> answers = machine.answers().take();
    for (control::Answer& answer : answers) {
      Stream& stream = streams[static_cast<std::size_t>(answer.instance) - 1];
      const auto body = std::move(answer.body).take();
      ask(control, stream, {std::get<control::NextDistribution>(body).tokens.front()});
    }
    if (step < kWarmUpSteps) continue;
    build_us.push_back(static_cast<double>(built_ns - before_ns) * 1e-3);
    complete_us.push_back(static_cast<double>(end_ns - start_ns) * 1e-3);
  }
  return {spread_of(std::move(build_us)), spread_of(std::move(complete_us))};
}

}  // namespace

Result<void> bench_scheduler(const cli::BenchOptions& options) {
  const bool is_text = options.output == cli::OutputStyle::Text;
  nlohmann::json rows = nlohmann::json::array();
  if (is_text) {
    print("requests   build us (least)   budget us   ns/request   completion us (least)\n");
  }
  for (const std::uint32_t count : options.streams) {
    const StepTimes times = measure(std::max(count, 1u));
    const double budget_us = kBudgetUs + kBudgetUsPerRequest * count;
    rows.push_back({{"requests", count},
                    {"build_us", times.build_us.median},
                    {"build_us_least", times.build_us.least},
                    {"budget_us", budget_us},
                    {"complete_us", times.complete_us.median},
                    {"complete_us_least", times.complete_us.least}});
    if (!is_text) continue;
    char line[160];
    std::snprintf(line, sizeof line, "%8u %10.1f (%5.1f) %11.1f %12.0f %14.1f (%5.1f)\n", count,
                  times.build_us.median, times.build_us.least, budget_us,
                  times.build_us.median * 1e3 / count, times.complete_us.median,
                  times.complete_us.least);
    print(line);
  }
  if (is_text) {
    print("build: from the device being free to the next batch submitted, median of " +
          std::to_string(kSteps) +
          " steps; a request is a stream's token: its forward pass and its distribution\n");
  } else {
    print(nlohmann::json{{"results", rows}}.dump() + "\n");
  }
  return {};
}

}  // namespace quire
