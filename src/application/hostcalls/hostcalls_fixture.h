#pragma once
// For tests: the host calls as a guest sees them, by FakeHost, around a control layer that notes
// commands and answers what the test says.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "application/hostcalls/calls.h"
#include "application/hostcalls/hostcalls_test_support.h"
#include "application/net/fake_http_client.h"
#include "application/sandbox/fake_runtime.h"

namespace quire::hostcalls {

inline constexpr std::uint32_t kBuffer = 4096;

// The control layer's answer to a draw. Each token has a probability of a half.
struct DrawnRest {
  control::DrawEnd end = control::DrawEnd::None;
  std::uint32_t random_count = 0;
  std::uint32_t seq_len = 0;
  bool is_full = false;
};
inline control::Draws drawn(const std::vector<std::uint32_t>& tokens, const DrawnRest& rest = {}) {
  control::Draws draws;
  for (const std::uint32_t token : tokens) draws.all.push_back({token, 0.5f, false});
  draws.end = rest.end;
  draws.random_count = rest.random_count;
  draws.counters.seq_len = rest.seq_len;
  draws.is_full = rest.is_full;
  return draws;
}

class HostCalls : public testing::Test {
 protected:
  void SetUp() override { restart({}, {}); }

  void restart(const GuestLimits& limits, const control::InstanceLimits& control_limits,
               std::optional<RequestHead> request = std::nullopt) {
    state = std::make_unique<GuestState>(parts, GuestIdentity{.instance = control::InstanceId{9},
                                                              .tenant = control::TenantId{1},
                                                              .arguments = {"one", "two"},
                                                              .limits = limits,
                                                              .control_limits = control_limits,
                                                              .request = std::move(request),
                                                              .environment = environment});
    host = std::make_unique<sandbox::FakeHost>(host_functions(), state.get(), 1u << 16);
    model = call("models", "get-model", {0, 0});
    queue = call("queue", "create-queue", {model, 1});
    ASSERT_GT(queue, 0);
    control.commands.clear();
  }

  // Begins anew with these variables.
  void give(Environment variables) {
    environment = std::make_shared<const Environment>(std::move(variables));
    restart({}, {});
  }

  std::int64_t call(std::string_view interface, std::string_view name,
                    std::initializer_list<std::int64_t> arguments) {
    const auto outcome = host->call(interface, name, arguments);
    EXPECT_EQ(outcome.outcome, CallOutcome::Return);
    state->verify();
    return outcome.value;
  }
  static std::int64_t minus(ErrorCode code) { return -static_cast<std::int64_t>(code); }

  std::int64_t put(std::uint32_t address, const std::vector<std::int32_t>& values) {
    return host->put(address, {reinterpret_cast<const char*>(values.data()), values.size() * 4});
  }
  std::int32_t number_at(std::uint32_t address) {
    std::int32_t value = 0;
    std::memcpy(&value, host->memory().data() + address, sizeof value);
    return value;
  }
  void answer(Result<control::AnswerBody> body) {
    const control::Command command = control.take_waiting();
    state->answer({command.instance, command.future, std::move(body)});
    state->verify();
  }
  std::int64_t take(std::int64_t future) { return call("future", "take", {future, kBuffer, 1024}); }
  // The lines of the log that the client has not taken.
  std::vector<Outbox::Line> lines() const {
    std::vector<Outbox::Line> all;
    for (const Outbox::Item& each : state->outbox.items()) {
      if (const auto* line = std::get_if<Outbox::Line>(&each)) all.push_back(*line);
    }
    return all;
  }
  template <typename T>
  const T& last_command() {
    return std::get<T>(control.commands.back().body);
  }

  ManualClock clock;
  ManualWallClock wall_clock;
  SeededRandom random{7};
  RecordingControl control{nullptr};
  net::FakeHttpClient http{clock};
  MessageBroker broker;
  RecordingLauncher launcher;
  HostParts parts{control, clock, wall_clock, random, broker, launcher, 1'000'000, nullptr, &http};
  EnvironmentHandle environment;
  std::unique_ptr<GuestState> state;
  std::unique_ptr<sandbox::FakeHost> host;
  std::int64_t model = 0;
  std::int64_t queue = 0;
};

}  // namespace quire::hostcalls
