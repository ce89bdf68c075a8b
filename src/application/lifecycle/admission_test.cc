#include "application/lifecycle/admission.h"

#include <gtest/gtest.h>

#include "application/lifecycle/lifecycle_test_support.h"
#include "application/sandbox/fake_runtime.h"
#include "base/clock.h"
#include "base/seeds.h"
#include "support/admission_program.h"

namespace quire::lifecycle {
namespace {

TEST(Admission, SaysWhenToTryAgainFromHowOftenOneLeft) {
  Admission admission({.instance_count_max = 1, .waiting_launch_count_max = 0});
  EXPECT_EQ(admission.retry_after_ms(0), 1000u) << "nobody has left yet";
  std::uint64_t now_ns = 0;
  for (int each = 0; each < 100; ++each) {
    ASSERT_TRUE(admission.admit(Admission::Wait::May, now_ns).ok());
    admission.begin();
    now_ns += 40 * kMillisecond;
    admission.leave(now_ns);
  }
  EXPECT_NEAR(static_cast<double>(admission.retry_after_ms(now_ns)), 40, 2);
  EXPECT_GT(admission.retry_after_ms(now_ns + 2000 * kMillisecond), 90u) << "it has become slower";
  EXPECT_EQ(admission.retry_after_ms(now_ns + 3'600'000 * kMillisecond), 5000u);
}

TEST(AdmissionPrograms, CountWhoWaitsAndWhoIsThere) {
  for (const std::uint64_t seed : campaign_seeds(2'000)) {
    SCOPED_TRACE(seed);
    test::AdmissionProgram(seed).run();
    ASSERT_FALSE(HasFailure());
  }
}

// ---- In the manager ----------------------------------------------------------------------------

// Ends when its client has sent something or closed its input.
class PatientGuest final : public sandbox::FakeGuest {
 public:
  sandbox::FakeAction step(sandbox::FakeHost& host) override {
    if (std::exchange(waits_, true)) return {};
    const auto future = static_cast<std::uint32_t>(host.call("session", "receive", {}).value);
    host.put(0, std::string_view(reinterpret_cast<const char*>(&future), sizeof future));
    const auto outcome = host.call("future", "wait", {0, 1, -1}).outcome;
    const bool suspends = outcome == sandbox::CallOutcome::Suspend;
    return {suspends ? sandbox::FakeAction::Kind::Wait : sandbox::FakeAction::Kind::Yield, 0, ""};
  }

 private:
  bool waits_ = false;
};

struct Limited {
  explicit Limited(const AdmissionLimits& limits)
      : runtime(hostcalls::host_functions(), 1024), engine(runtime, clock, limits) {
    runtime.add_program("patient", [] { return std::make_unique<PatientGuest>(); });
    program =
        engine.manager.load_program(std::as_bytes(std::span(std::string_view("patient")))).value();
  }
  Result<InstanceId> launch() {
    return engine.manager.launch({.program = program, .arguments = {}, .limits = {}},
                                 engine.client);
  }

  ManualClock clock;
  sandbox::FakeRuntime runtime;
  TestEngine engine;
  ProgramId program{};
};

TEST(AdmissionOfLaunches, WhoFindsNoPlaceWaitsItsTurnAndTheNextIsRefused) {
  Limited test({.instance_count_max = 2, .waiting_launch_count_max = 1});
  const InstanceId first = test.launch().value();
  test.launch().value();
  const InstanceId waits = test.launch().value();
  test.engine.settle();
  const Result<InstanceId> refused = test.launch();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::Unavailable);
  EXPECT_EQ(refused.error().message(),
            "waiting_launch_count_max: 2 of 2 instances are there, 1 of 1 launches wait for one to "
            "go; try again in 1000 ms");
  ASSERT_TRUE(test.engine.manager.send_to(waits, "it gets this when it starts").ok());
  test.engine.settle();
  EXPECT_EQ(test.engine.client.ends.size(), 0u) << "it waits";
  ASSERT_TRUE(test.engine.manager.kill(first, "room").ok());
  test.engine.settle();
  EXPECT_EQ(test.engine.client.ends.size(), 2u) << "the first, and the one that waited";
  EXPECT_TRUE(test.launch().ok());
}

TEST(AdmissionOfLaunches, OneThatEndsWhileItWaitsLeavesNothingBehind) {
  Limited test({.instance_count_max = 1, .waiting_launch_count_max = 1});
  const InstanceId first = test.launch().value();
  const InstanceId waits = test.launch().value();
  ASSERT_TRUE(test.engine.manager.kill(waits, "changed its mind").ok());
  EXPECT_FALSE(test.launch().ok()) << "its last word was not taken yet";
  test.engine.settle();
  EXPECT_TRUE(test.launch().ok());
  ASSERT_TRUE(test.engine.manager.kill(first, "room").ok());
  test.engine.settle();
  EXPECT_EQ(test.engine.manager.live_count(), 1u);
}

TEST(AdmissionOfLaunches, AThousandLaunchesOneAfterTheOtherAllFindAPlace) {
  Limited test({.instance_count_max = 1, .waiting_launch_count_max = 0});
  for (int each = 0; each < 1000; ++each) {
    const Result<InstanceId> id = test.launch();
    ASSERT_TRUE(id.ok()) << each << ": " << id.error().message();
    ASSERT_TRUE(test.engine.manager.close_input(id.value()).ok());
    test.clock.advance_ns(kMillisecond);
    test.engine.settle();
  }
  EXPECT_EQ(test.engine.manager.live_count(), 0u);
}

}  // namespace
}  // namespace quire::lifecycle
