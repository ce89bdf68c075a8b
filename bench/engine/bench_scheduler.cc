// `quire-bench scheduler`: time of the scheduler per step against how many streams decode.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/json.h"
#include "bench/engine/bench_scheduling.h"
#include "bench/machine/bench_streams.h"
#include "main/machine/simulated_machine.h"
#include "main/verbs/shared/output.h"
#include "quire/draw_rule.h"

namespace quire {
namespace {

constexpr std::uint32_t kPromptTokensEach = 16;
constexpr std::uint32_t kWarmUpSteps = 20;
constexpr std::uint32_t kSteps = 200;
// The scheduler's budget of a batch: 5 us + 0.1 us for each request (docs/benchmarks/README.md).
constexpr double kBudgetUs = 5.0;
constexpr double kBudgetUsPerRequest = 0.1;

struct StepTimes {
  Spread build_us;     // From "the device is free" to a batch submitted.
  Spread complete_us;  // Of taking in what it did, up to the last answer.
};

// How a stream asks for its next token.
enum class Ask : std::uint8_t {
  Sample,  // forward_sample: one command, as of text_completion and generate.
  Read,    // context.forward and get_next_dist: two, and the token comes from the program.
};
const char* name_of(Ask how) {
  return how == Ask::Sample ? "forward_sample" : "get_next_dist";
}

// One stream: a context that grows by a token a step.
struct Stream {
  control::InstanceId instance{};
  std::uint32_t future = 0;
};
constexpr control::ObjectId kQueue{1};
constexpr control::ObjectId kContext{2};
constexpr control::ObjectId kOutput{3};

// Asks for the token after `tokens`. They are empty if the last token is queued already.
void ask(control::ControlPort& control, Ask how, Stream& stream,
         std::vector<std::uint32_t> tokens) {
  const auto tell = [&](control::CommandBody body) {
    control.submit({stream.instance, control::kNoFuture, std::move(body)});
  };
  const auto expect = [&](control::CommandBody body) {
    control.submit({stream.instance, control::FutureId{++stream.future}, std::move(body)});
  };
  if (!tokens.empty()) tell(control::ContextAppend{kContext, std::move(tokens)});
  if (how == Ask::Sample) {
    static const auto rule = std::make_shared<const DrawRule>();
    expect(control::ContextDraw{.context = kContext, .queues_token = true, .draw = {.rule = rule}});
  } else {
    tell(control::ContextForward{.context = kContext, .output_embeds = {kOutput}});
    expect(control::GetNextDist{.queue = kQueue, .embed = kOutput, .top_k = 1});
  }
}

// Returns the tokens that the program appends before it asks again.
std::vector<std::uint32_t> tokens_of(const control::AnswerBody& body) {
  const auto* next = std::get_if<control::NextDistribution>(&body);
  if (next == nullptr) return {};
  return {next->tokens.front()};
}

StepTimes measure(std::uint32_t stream_count, Ask how) {
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
    ask(control, how, streams[each], random_prompt(random, 512, kPromptTokensEach));
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
      ask(control, how, stream, tokens_of(body));
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
    print(
        "request         requests   build us (least)   budget us   ns/request   completion us "
        "(least)\n");
  }
  const auto add = [&](std::uint32_t count, Ask how) {
    const StepTimes times = measure(std::max(count, 1u), how);
    const double budget_us = kBudgetUs + kBudgetUsPerRequest * count;
    rows.push_back({{"request", name_of(how)},
                    {"requests", count},
                    {"build_us", times.build_us.median},
                    {"build_us_least", times.build_us.least},
                    {"budget_us", budget_us},
                    {"complete_us", times.complete_us.median},
                    {"complete_us_least", times.complete_us.least}});
    if (!is_text) return;
    char line[160];
    std::snprintf(line, sizeof line, "%-15s %8u %10.1f (%5.1f) %11.1f %12.0f %14.1f (%5.1f)\n",
                  name_of(how), count, times.build_us.median, times.build_us.least, budget_us,
                  times.build_us.median * 1e3 / count, times.complete_us.median,
                  times.complete_us.least);
    print(line);
  };
  for (const Ask how : {Ask::Sample, Ask::Read}) {
    for (const std::uint32_t count : options.streams) add(count, how);
  }
  if (is_text) {
    print("build: from the device being free to the next batch submitted, median of " +
          std::to_string(kSteps) +
          " steps; a request is a stream's token, asked for with one command (forward_sample, as "
          "text_completion\nand generate do) or with two (context.forward and get_next_dist)\n");
  } else {
    print(dump_json(nlohmann::json{{"results", rows}}) + "\n");
  }
  return {};
}

}  // namespace quire
