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
    ASSERT_TRUE(admission.admit({}, now_ns).ok());
    admission.begin({});
    now_ns += 40 * kMillisecond;
    admission.leave({}, now_ns);
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
  Result<InstanceId> launch(std::uint32_t tenant = 0) { return launch(tenant, engine.client); }
  Result<InstanceId> launch(std::uint32_t tenant, RecordingClient& client) {
    return engine.manager.launch(
        {.program = program, .tenant = control::TenantId{tenant}, .arguments = {}, .limits = {}},
        client);
  }
  // Launches until one is refused; how many were not.
  int launch_all(std::uint32_t tenant, RecordingClient& client) {
    int count = 0;
    while (launch(tenant, client).ok()) ++count;
    return count;
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

TEST(AdmissionOfLaunches, ARefusalTellsATenantItsOwnCountAlone) {
  Limited test({.instance_count_max = 2, .waiting_launch_count_max = 2});
  for (const std::uint32_t tenant : {1u, 2u, 1u, 2u})
    ASSERT_TRUE(test.launch(tenant).ok()) << tenant;
  const Result<InstanceId> refused = test.launch(3);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message(),
            "tenant 3: waiting_launch_count_max: the server is full: 0 of its instances are there, "
            "0 of its launches wait for one to go; try again in 1000 ms");
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

// ---- Of several tenants.

std::uint64_t started_count(const Limited& test) {
  return test.engine.manager.live_count() - test.engine.manager.waiting_count();
}

TEST(AdmissionOfTenants, OneWhoLaunchesWithoutEndLeavesRoomInTheQueueForWhoeverComes) {
  Limited test({.instance_count_max = 2, .waiting_launch_count_max = 16});
  for (std::uint32_t tenant = 1; tenant <= 3; ++tenant) {
    test.engine.manager.name_tenant(control::TenantId{tenant}, 1, {});
  }
  EXPECT_EQ(test.launch_all(1, test.engine.client), 1 + 8);
  test.engine.settle();
  EXPECT_EQ(test.launch(1).error().code(), ErrorCode::Unavailable);
  EXPECT_EQ(test.launch(1).error().message(),
            "tenant 1: waiting_launch_count_max: its share is full: 1 of its instances are "
            "there, 8 of its launches wait for one to go; try again in 1000 ms");
  EXPECT_EQ(test.launch_all(2, test.engine.client), 4) << "of which one finds the other place";
  EXPECT_EQ(test.launch_all(3, test.engine.client), 2);
  test.engine.manager.verify();
}

TEST(AdmissionOfTenants, WhoIsTheOnlyOneHasTheWholeQueue) {
  for (const bool is_named : {false, true}) {
    Limited test({.instance_count_max = 2, .waiting_launch_count_max = 16});
    if (is_named) test.engine.manager.name_tenant(control::TenantId{5}, 3, {});
    EXPECT_EQ(test.launch_all(is_named ? 5 : 0, test.engine.client), 2 + 16);
  }
}

TEST(AdmissionOfTenants, OneWhoLaunchesWithoutEndLeavesPlacesForWhoeverComes) {
  Limited test({.instance_count_max = 8, .waiting_launch_count_max = 64});
  test.engine.manager.set_several_tenants(true);  // The other has a key, and did nothing yet.
  test.launch_all(1, test.engine.client);
  test.engine.settle();
  EXPECT_EQ(started_count(test), 4u);
  RecordingClient other;
  const InstanceId id = test.launch(2, other).value();
  ASSERT_TRUE(test.engine.manager.close_input(id).ok());
  test.engine.settle();
  EXPECT_EQ(other.ends.size(), 1u) << "it had a place at once";
  test.engine.manager.verify();
}

TEST(Admission, AChildHasAPlaceThoughAnotherTenantsLaunchesWait) {
  Admission admission({.instance_count_max = 8, .waiting_launch_count_max = 64});
  admission.set_several(true);
  const Admission::Launch flood{control::TenantId{1}, Admission::Wait::May};
  while (admission.admit(flood, 0).ok()) {
  }
  while (admission.has_place(control::TenantId{1})) admission.begin(control::TenantId{1});
  EXPECT_GT(admission.waiting_count(), 8u);
  EXPECT_TRUE(admission.admit({control::TenantId{2}, Admission::Wait::MustNot}, 0).ok());
  EXPECT_FALSE(admission.admit({control::TenantId{1}, Admission::Wait::MustNot}, 0).ok());
}

TEST(AdmissionOfTenants, AnOperatorGivesATenantAnotherShareOfThePlaces) {
  Limited test({.instance_count_max = 8, .waiting_launch_count_max = 64});
  test.engine.manager.name_tenant(control::TenantId{1}, 1, {.instance_count_max = 7});
  test.engine.manager.name_tenant(control::TenantId{2}, 1, {});
  test.launch_all(1, test.engine.client);
  test.engine.settle();
  EXPECT_EQ(started_count(test), 7u);
  EXPECT_TRUE(test.launch(2).ok());
}

TEST(AdmissionOfTenants, TheServerIsFullWhenOneBelowItsShareWaitsForFiveSeconds) {
  Limited test({.instance_count_max = 4, .waiting_launch_count_max = 64});
  for (int each = 0; each < 4; ++each) ASSERT_TRUE(test.launch(1).ok());  // The only one there is.
  ASSERT_TRUE(test.launch(1).ok());
  test.engine.settle();
  test.clock.advance_ns(2 * kPlaceWaitNsMax);
  EXPECT_FALSE(test.engine.manager.is_full()) << "it waits for itself";
  ASSERT_TRUE(test.launch(2).ok());
  test.engine.settle();
  EXPECT_FALSE(test.engine.manager.is_full());
  test.clock.advance_ns(kPlaceWaitNsMax + 1);
  EXPECT_TRUE(test.engine.manager.is_full());
}

TEST(AdmissionOfTenants, AQueueOfOneIsForWhoeverComesFirst) {
  Limited test({.instance_count_max = 1, .waiting_launch_count_max = 1});
  for (const std::uint32_t tenant : {1u, 2u}) {
    test.engine.manager.name_tenant(control::TenantId{tenant}, 1, {});
  }
  EXPECT_TRUE(test.launch(1).ok());
  EXPECT_TRUE(test.launch(1).ok());
  EXPECT_EQ(test.launch_all(2, test.engine.client), 0);
}

TEST(AdmissionOfTenants, ASingleLaunchDoesNotWaitBehindAThousandOfAnothers) {
  Limited test({.instance_count_max = 1, .waiting_launch_count_max = 4096});
  for (const std::uint32_t tenant : {1u, 2u}) {
    test.engine.manager.name_tenant(control::TenantId{tenant}, 1, {});
  }
  std::vector<InstanceId> many;
  for (int each = 0; each < 1000; ++each) many.push_back(test.launch(1).value());
  RecordingClient other;
  const InstanceId single = test.launch(2, other).value();
  ASSERT_TRUE(test.engine.manager.close_input(single).ok());
  test.engine.settle();
  EXPECT_TRUE(other.ends.empty()) << "no place yet";
  for (int each = 0; each < 2; ++each) {
    ASSERT_TRUE(test.engine.manager.close_input(many[each]).ok());
    test.engine.settle();
  }
  EXPECT_EQ(other.ends.size(), 1u) << "its turn came after two of the others'";
  EXPECT_EQ(test.engine.client.ends.size(), 2u);
}

TEST(AdmissionOfTenants, PlacesThatComeFreeGoByWeight) {
  Limited test({.instance_count_max = 1, .waiting_launch_count_max = 4096});
  test.engine.manager.name_tenant(control::TenantId{1}, 3, {});
  test.engine.manager.name_tenant(control::TenantId{2}, 1, {});
  RecordingClient clients[2];
  for (int each = 0; each < 200; ++each) {
    for (const std::uint32_t tenant : {1u, 2u}) {
      const InstanceId id = test.launch(tenant, clients[tenant - 1]).value();
      ASSERT_TRUE(test.engine.manager.close_input(id).ok());
    }
  }
  while (clients[0].ends.size() + clients[1].ends.size() < 100) test.engine.loop.step();
  EXPECT_NEAR(static_cast<double>(clients[0].ends.size()), 75, 2);
  test.engine.settle();
  EXPECT_EQ(clients[0].ends.size() + clients[1].ends.size(), 400u);
}

}  // namespace
}  // namespace quire::lifecycle
