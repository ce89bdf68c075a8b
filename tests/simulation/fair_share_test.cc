// Tenants whose programs want more than the device has get tokens by their weights, within a tenth,
// however many programs each of them runs: counted where the programs take them.
#include <gtest/gtest.h>

#include <array>
#include <memory>

#include "application/hostcalls/calls.h"
#include "application/lifecycle/engine_loop.h"
#include "application/lifecycle/lifecycle_test_support.h"
#include "application/sandbox/fake_runtime.h"
#include "base/seeds.h"
#include "simulation/machine.h"

namespace quire::simulation {
namespace {

using sandbox::CallOutcome;
using sandbox::FakeAction;
using sandbox::FakeHost;
using Kind = FakeAction::Kind;

constexpr std::uint32_t kTenantCount = 3;
constexpr std::uint32_t kRowCountMax = 8;        // Of a batch: fewer than there are programs.
constexpr std::uint32_t kBatchCountFirst = 100;  // Until all have begun.
constexpr std::uint32_t kBatchCount = 900;
constexpr std::uint32_t kFuture = 64, kTokens = 128, kBuffer = 1024, kBufferBytes = 32768;

// Generates without end, and counts what it takes.
class Generator final : public sandbox::FakeGuest {
 public:
  Generator(std::uint64_t& count, std::uint32_t first_token)
      : count_(count), first_token_(first_token) {}

  FakeAction step(FakeHost& host) override {
    if (generation_ == 0) begin(host);
    if (host.wait_result) {
      const std::int64_t bytes =
          host.call("future", "take", {future_, kBuffer, kBufferBytes}).value;
      EXPECT_GE(bytes, 8);
      count_ += static_cast<std::uint64_t>(bytes - 8) / 16;
    }
    future_ = host.call("draw", "next-draws", {generation_, 1}).value;
    const auto handle = static_cast<std::int32_t>(future_);
    host.put(kFuture, {reinterpret_cast<const char*>(&handle), sizeof handle});
    EXPECT_EQ(host.call("future", "wait", {kFuture, 1, -1}).outcome, CallOutcome::Suspend);
    return {Kind::Wait, 0, ""};
  }

 private:
  void begin(FakeHost& host) {
    const std::int64_t model = host.call("models", "get-model", {0, 0}).value;
    const std::int64_t queue = host.call("queue", "create-queue", {model, 1}).value;
    const std::int64_t context = host.call("context", "create", {queue}).value;
    host.put(kTokens, {reinterpret_cast<const char*>(&first_token_), sizeof first_token_});
    host.call("context", "append", {context, kTokens, 1});
    const std::int64_t rule = host.call("draw", "create-rule", {model, kTokens, 0}).value;
    generation_ =
        host.call("draw", "generate", {context, rule, 0, 0, 0, 4000, kTokens, 0, 0, 0}).value;
    EXPECT_GT(generation_, 0);
  }

  std::uint64_t& count_;
  std::uint32_t first_token_;
  std::int64_t generation_ = 0;
  std::int64_t future_ = 0;
};

struct Shares {
  std::array<std::uint32_t, kTenantCount> weights;
  std::array<std::uint32_t, kTenantCount> program_counts;
};

// Tokens of each tenant, of kBatchCount batches.
std::array<std::uint64_t, kTenantCount> tokens_of(const Shares& shares, std::uint64_t seed) {
  Knobs knobs;
  knobs.page_count = 8192;
  knobs.row_count_max = kRowCountMax;
  ManualClock clock;
  ManualWallClock wall_clock;
  Trace trace(clock, nullptr);
  Wakeup wakeup;
  SeededRandom random(seed);
  control::CompletionInbox inbox(wakeup);
  Device device(knobs, 0, seed, clock, trace, inbox);
  lifecycle::AnswerInbox answers;
  const std::unique_ptr<control::Controller> controller =
      control::make_controller({{.backend = &device}}, {}, inbox, answers, wakeup, clock);
  sandbox::FakeRuntime runtime(hostcalls::host_functions(), 64);
  lifecycle::RecordingClient client;
  lifecycle::InstanceManager manager({.runtime = runtime,
                                      .control = *controller,
                                      .answers = answers,
                                      .clock = clock,
                                      .cpu_clock = clock,
                                      .wall_clock = wall_clock,
                                      .random = random,
                                      .wakeup = wakeup});
  lifecycle::EngineLoop loop(manager, *controller, clock, wakeup);
  std::array<std::uint64_t, kTenantCount> counts{};
  std::uint32_t first_token = 0;
  for (std::uint32_t tenant = 0; tenant < kTenantCount; ++tenant) {
    controller->set_tenant(control::TenantId{tenant}, {.weight = shares.weights[tenant]});
    for (std::uint32_t each = 0; each < shares.program_counts[tenant]; ++each) {
      const std::string name = std::to_string(tenant) + "." + std::to_string(each);
      ++first_token;
      runtime.add_program(name, [&counts, tenant, first_token] {
        return std::make_unique<Generator>(counts[tenant], first_token);
      });
      const auto program = manager.load_program(std::as_bytes(std::span(name)));
      EXPECT_TRUE(manager
                      .launch({.program = program.value(),
                               .tenant = control::TenantId{tenant},
                               .arguments = {},
                               .limits = {}},
                              client)
                      .ok());
    }
  }
  for (std::uint32_t batch = 0; batch < kBatchCountFirst + kBatchCount; ++batch) {
    if (batch == kBatchCountFirst) counts = {};
    while (loop.step()) {
    }
    controller->verify();
    const std::optional<std::uint64_t> due_ns = device.due_ns();
    if (!due_ns) {
      ADD_FAILURE() << "the device has nothing to do";
      break;
    }
    clock.advance_ns(*due_ns - std::min(*due_ns, clock.now_ns()));
    device.finish_one();
  }
  return counts;
}

TEST(FairShares, AreWithinATenthOfTheWeightsHoweverManyProgramsATenantRuns) {
  constexpr Shares kAll[] = {
      {.weights = {1, 1, 1}, .program_counts = {8, 8, 8}},
      {.weights = {1, 1, 1}, .program_counts = {4, 8, 32}},
      {.weights = {1, 2, 3}, .program_counts = {8, 8, 8}},
      {.weights = {3, 2, 1}, .program_counts = {6, 12, 24}},
  };
  for (const std::uint64_t seed : campaign_seeds(8)) {
    for (const Shares& shares : kAll) {
      const std::array<std::uint64_t, kTenantCount> counts = tokens_of(shares, seed);
      double weight_sum = 0;
      double count_sum = 0;
      for (std::uint32_t tenant = 0; tenant < kTenantCount; ++tenant) {
        weight_sum += shares.weights[tenant];
        count_sum += static_cast<double>(counts[tenant]);
      }
      EXPECT_GT(count_sum, 0.9 * kBatchCount * kRowCountMax) << "the device was not full";
      for (std::uint32_t tenant = 0; tenant < kTenantCount; ++tenant) {
        const double fair = shares.weights[tenant] / weight_sum;
        EXPECT_NEAR(static_cast<double>(counts[tenant]) / count_sum, fair, 0.1 * fair)
            << "tenant " << tenant << " of weight " << shares.weights[tenant] << ", seed " << seed;
      }
    }
  }
}

}  // namespace
}  // namespace quire::simulation
