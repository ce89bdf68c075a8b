// The counts of a tenant's instances, compared with the simplest model; and its limits in the
// manager.
#include "application/lifecycle/tenant_meter.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "application/lifecycle/lifecycle_test_support.h"
#include "application/sandbox/fake_runtime.h"
#include "base/seeds.h"

namespace quire::lifecycle {
namespace {

using control::TenantId;

struct ModelInstance {
  TenantId tenant{};
  std::uint64_t memory_bytes = 0;
  bool has_ended = false;
};

// The model is a list of instances: every figure is a sum over it.
class TenantProgram {
 public:
  explicit TenantProgram(std::uint64_t seed) : random_(seed) {
    for (std::uint32_t id = 0; id < kTenantCount; ++id) {
      if (random_() % 3 == 0) continue;  // The tenant is not named: it has no limits.
      TenantLimits limits;
      if (random_() % 2 == 0) limits.instance_count_max = random_() % 6;
      if (random_() % 2 == 0) limits.memory_bytes_max = random_() % 1000;
      limits_[id] = limits;
      meter_.name(TenantId{id}, limits);
    }
  }

  void run() {
    for (int step = 0; step < 300 && !testing::Test::HasFailure(); ++step) {
      switch (random_() % 4) {
        case 0:
        case 1:
          launch();
          break;
        case 2:
          end();
          break;
        default:
          leave();
          break;
      }
      compare();
    }
    while (!instances_.empty()) {
      end();
      leave();
    }
    compare();
    for (const auto& [id, tenant] : meter_.tenants()) {
      EXPECT_EQ(tenant.instance_count, 0u);
      EXPECT_EQ(tenant.memory_bytes_reserved, 0u);
      EXPECT_EQ(tenant.gauge.http_exchange_count, 0u);
    }
  }

 private:
  static constexpr std::uint32_t kTenantCount = 4;

  void launch() {
    const auto id = static_cast<std::uint32_t>(random_() % kTenantCount);
    const std::uint64_t bytes = random_() % 400;
    std::uint64_t count = 0;
    std::uint64_t reserved = 0;
    for (const ModelInstance& each : instances_) {
      if (each.tenant != TenantId{id}) continue;
      ++count;
      reserved += each.has_ended ? 0 : each.memory_bytes;
    }
    const TenantLimits& limits = limits_[id];
    const bool fits =
        count < limits.instance_count_max &&
        (limits.memory_bytes_max == kNoLimit || reserved + bytes <= limits.memory_bytes_max);
    const Result<void> may = meter_.check(TenantId{id}, bytes);
    ASSERT_EQ(may.ok(), fits);
    ASSERT_EQ(meter_.has_room(TenantId{id}, bytes), fits);
    if (!fits) {
      ++refused_[id];
      EXPECT_EQ(may.error().code(), ErrorCode::Unavailable);
      EXPECT_TRUE(may.error().message().starts_with("tenant " + std::to_string(id) + ": "));
      return;
    }
    EXPECT_EQ(meter_.enter(TenantId{id}, bytes).tenant, TenantId{id});
    ++launched_[id];
    instances_.push_back({TenantId{id}, bytes, false});
  }
  void end() {
    for (ModelInstance& each : instances_) {
      if (each.has_ended) continue;
      const InstanceUse use{.cpu_ns = random_() % 100,
                            .wall_ns = random_() % 100,
                            .token_count = random_() % 100,
                            .http_call_count = random_() % 100,
                            .output_bytes = random_() % 100};
      used_[static_cast<std::uint32_t>(each.tenant)] += use;
      meter_.end(each.tenant, each.memory_bytes, use);
      each.has_ended = true;
      return;
    }
  }
  void leave() {
    for (std::size_t at = 0; at < instances_.size(); ++at) {
      if (!instances_[at].has_ended) continue;
      meter_.leave(instances_[at].tenant);
      instances_.erase(instances_.begin() + static_cast<std::ptrdiff_t>(at));
      return;
    }
  }
  void compare() {
    meter_.verify();
    for (const auto& [tenant, got] : meter_.tenants()) {
      const auto id = static_cast<std::uint32_t>(tenant);
      std::uint64_t count = 0;
      std::uint64_t reserved = 0;
      for (const ModelInstance& each : instances_) {
        if (each.tenant != tenant) continue;
        ++count;
        reserved += each.has_ended ? 0 : each.memory_bytes;
      }
      EXPECT_EQ(got.instance_count, count);
      EXPECT_EQ(got.memory_bytes_reserved, reserved);
      EXPECT_EQ(got.launched_count, launched_[id]);
      EXPECT_EQ(got.refused_count, refused_[id]);
      EXPECT_EQ(got.ended, used_[id]);
    }
  }

  std::mt19937_64 random_;
  TenantMeter meter_;
  std::vector<ModelInstance> instances_;
  TenantLimits limits_[kTenantCount];
  std::uint64_t launched_[kTenantCount] = {};
  std::uint64_t refused_[kTenantCount] = {};
  InstanceUse used_[kTenantCount];
};

TEST(TenantMeterPrograms, AreTheSumsOverWhoIsThereAndEndAtNothing) {
  for (const std::uint64_t seed : campaign_seeds(2'000)) {
    SCOPED_TRACE(seed);
    TenantProgram(seed).run();
    ASSERT_FALSE(HasFailure());
  }
}

// ---- In the manager ----------------------------------------------------------------------------

using sandbox::CallOutcome;
using sandbox::FakeAction;
using sandbox::FakeHost;

constexpr std::uint32_t kName = 128, kBuffer = 1024;

std::int64_t call_with(FakeHost& host, const char* interface, const char* name,
                       std::string_view text) {
  return host.call(interface, name, {host.put(kName, text), static_cast<std::int64_t>(text.size())})
      .value;
}

// Says what its argument says to do, then waits for its client.
class AskedGuest final : public sandbox::FakeGuest {
 public:
  FakeAction step(FakeHost& host) override {
    if (waits_) return {};
    waits_ = true;
    const std::string wish = argument(host);
    if (wish == "http") open_exchange(host);
    if (wish == "say") call_with(host, "session", "send", "12345");
    if (wish == "limits") {
      const std::int64_t bytes = host.call("runtime", "limits", {kBuffer, 8192}).value;
      call_with(host, "session", "send", host.get(kBuffer, static_cast<std::uint32_t>(bytes)));
    }
    const auto future = static_cast<std::uint32_t>(host.call("session", "receive", {}).value);
    host.put(0, std::string_view(reinterpret_cast<const char*>(&future), sizeof future));
    const auto outcome = host.call("future", "wait", {0, 1, -1}).outcome;
    const bool suspends = outcome == CallOutcome::Suspend;
    return {suspends ? FakeAction::Kind::Wait : FakeAction::Kind::Yield, 0, ""};
  }

 private:
  static std::string argument(FakeHost& host) {
    const std::int64_t bytes = host.call("runtime", "get-arg", {0, kBuffer, 64}).value;
    return bytes < 0 ? "" : host.get(kBuffer, static_cast<std::uint32_t>(bytes));
  }
  static void open_exchange(FakeHost& host) {
    constexpr std::string_view kUrl = "http://example.com/";
    const std::int64_t future =
        host.call("net", "http-get", {host.put(kBuffer, kUrl), kUrl.size(), 0, 0}).value;
    const std::int64_t bytes = host.call("runtime", "last-error", {kBuffer, 512}).value;
    call_with(host, "session", "send",
              future > 0 ? "open" : host.get(kBuffer, static_cast<std::uint32_t>(bytes)));
  }
  bool waits_ = false;
};

class Tenants : public testing::Test {
 protected:
  void SetUp() override {
    runtime.add_program("asked", [] { return std::make_unique<AskedGuest>(); });
    program =
        engine.manager.load_program(std::as_bytes(std::span(std::string_view("asked")))).value();
  }
  Result<InstanceId> launch(std::uint32_t tenant, std::string wish = "",
                            std::uint64_t memory_bytes_max = 1000) {
    InstanceLimits limits;
    limits.memory_bytes_max = memory_bytes_max;
    limits.guest.http_grants = net::parse_http_grants({"example.com"}).value();
    Result<InstanceId> id = engine.manager.launch({.program = program,
                                                   .tenant = TenantId{tenant},
                                                   .arguments = {std::move(wish)},
                                                   .limits = limits},
                                                  engine.client);
    engine.settle();
    return id;
  }
  void end(InstanceId id) {
    ASSERT_TRUE(engine.manager.kill(id, "asked to").ok());
    engine.settle();
  }
  std::uint64_t figure(std::uint32_t tenant, const std::string& name) {
    for (const TenantUsage& each : engine.manager.usage(100).tenants) {
      if (each.tenant != TenantId{tenant}) continue;
      for (const hostcalls::LimitUse& use : each.figures) {
        if (use.name == name) return use.used.value();
      }
    }
    ADD_FAILURE() << "no " << name;
    return 0;
  }

  ManualClock clock;
  sandbox::FakeRuntime runtime{hostcalls::host_functions(), 64};
  TestEngine engine{runtime, clock};
  ProgramId program{};
};

TEST_F(Tenants, OneAtItsBoundIsRefusedAndItsNeighbourIsNot) {
  engine.manager.name_tenant(TenantId{3}, 1, {.instance_count_max = 1});
  const InstanceId first = launch(3).value();
  const Result<InstanceId> refused = launch(3);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::Unavailable);
  EXPECT_EQ(refused.error().message(),
            "tenant 3: instance_count_max: 1 of 1 instances are there; try again in 1000 ms");
  EXPECT_TRUE(launch(4).ok());
  end(first);
  EXPECT_TRUE(launch(3).ok());
  EXPECT_EQ(figure(3, "launched_count"), 2u);
  EXPECT_EQ(figure(3, "refused_count"), 1u);
}

TEST_F(Tenants, MemoryThatInstancesMayGrowToIsReservedUntilTheyEnd) {
  engine.manager.name_tenant(TenantId{3}, 1, {.memory_bytes_max = 2500});
  const InstanceId first = launch(3).value();
  ASSERT_TRUE(launch(3).ok());
  EXPECT_EQ(launch(3).error().message(),
            "tenant 3: memory_bytes_max: another instance may grow to 1000 bytes, its 2 instances "
            "to 2000 of 2500; try again in 1000 ms");
  EXPECT_TRUE(launch(3, "", 500).ok());
  end(first);
  EXPECT_TRUE(launch(3).ok());
}

TEST_F(Tenants, ExchangesOfAllItsProgramsAreBoundedTogether) {
  engine.http.respond("http://example.com:80/", {.after_ns = 1'000'000'000});
  engine.manager.name_tenant(TenantId{3}, 1, {.http_exchange_count_max = 2});
  const InstanceId first = launch(3, "http").value();
  ASSERT_TRUE(launch(3, "http").ok());
  ASSERT_TRUE(launch(3, "http").ok());
  ASSERT_TRUE(launch(4, "http").ok());
  EXPECT_EQ(engine.client.messages,
            (std::vector<std::string>{
                "open", "open",
                "tenant 3: http.exchange_count_max: 2 of 2 exchanges of its programs are open; "
                "wait for one to end",
                "open"}));
  EXPECT_EQ(figure(3, "http.exchange_count_max"), 2u);
  end(first);
  EXPECT_EQ(figure(3, "http.exchange_count_max"), 1u);
}

TEST_F(Tenants, WhatEndedInstancesUsedIsKeptAndWhatTheyHeldIsNot) {
  const InstanceId id = launch(7, "say").value();
  EXPECT_EQ(figure(7, "instance_count_max"), 1u);
  EXPECT_EQ(figure(7, "output_bytes"), 5u) << "of one that lives";
  clock.advance_ns(1000);
  end(id);
  EXPECT_EQ(figure(7, "instance_count_max"), 0u);
  EXPECT_EQ(figure(7, "memory_bytes_max"), 0u);
  EXPECT_EQ(figure(7, "output_bytes"), 5u);
  EXPECT_EQ(figure(7, "wall_ns"), 1000u);
  EXPECT_EQ(figure(7, "launched_count"), 1u);
}

TEST_F(Tenants, AProgramSeesTheBoundsOfItsOwnTenantAlone) {
  engine.manager.name_tenant(TenantId{3}, 1, {.instance_count_max = 9});
  engine.manager.name_tenant(TenantId{4}, 1, {.memory_bytes_max = 8000});
  ASSERT_TRUE(launch(4).ok());
  ASSERT_TRUE(launch(3, "limits").ok());
  ASSERT_EQ(engine.client.messages.size(), 1u);
  const std::string& told = engine.client.messages.front();
  EXPECT_NE(told.find("\ntenant.instance_count_max 9 1\n"), std::string::npos) << told;
  EXPECT_EQ(told.find("tenant.memory_bytes_max"), std::string::npos) << told;
}

TEST_F(Tenants, TheOperatorIsToldOfEachInstanceUpToACount) {
  ASSERT_TRUE(launch(1, "say").ok());
  ASSERT_TRUE(launch(2).ok());
  ASSERT_TRUE(launch(2).ok());
  const Usage usage = engine.manager.usage(2);
  ASSERT_EQ(usage.instances.size(), 2u);
  EXPECT_EQ(usage.left_out_count, 1u);
  EXPECT_EQ(usage.parked_count, 3u);
  EXPECT_EQ(usage.instances[0].tenant, TenantId{1});
  EXPECT_EQ(usage.instances[1].tenant, TenantId{2});
  EXPECT_EQ(usage.instances[0].stage, Stage::Waiting);
  for (const hostcalls::LimitUse& each : usage.instances[0].figures) {
    EXPECT_GT(each.used, 0u) << each.name;
    if (each.name == "output_bytes_max") {
      EXPECT_EQ(each.used, 5u);
    }
  }
}

TEST_F(Tenants, ADeadlineIsCountedFromTheLaunchAndGivenToTheScheduler) {
  clock.advance_ns(500);
  ASSERT_TRUE(
      engine.manager
          .launch({.program = program, .arguments = {}, .limits = {}, .deadline_in_ns = 1000},
                  engine.client)
          .ok());
  engine.settle();
  ASSERT_EQ(engine.control.limits_started.size(), 1u);
  EXPECT_EQ(engine.control.limits_started.back().deadline_ns, 1500u);
  ASSERT_TRUE(
      engine.manager
          .launch({.program = program, .arguments = {}, .limits = {}, .deadline_in_ns = UINT64_MAX},
                  engine.client)
          .ok());
  engine.settle();
  EXPECT_EQ(engine.control.limits_started.back().deadline_ns, control::kNoDeadline);
}

}  // namespace
}  // namespace quire::lifecycle
