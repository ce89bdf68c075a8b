#include "application/server/engine_pulse.h"

#include <gtest/gtest.h>

#include "application/server/server_test_support.h"
#include "application/server/socket_server.h"

namespace quire::server {
namespace {

constexpr std::uint64_t kLimitNs = 20 * kSecond;

TEST(EnginePulse, TwoProbesInARowThatFindNoTurnSayThatTheEngineStands) {
  EnginePulse pulse;
  EXPECT_FALSE(pulse.finds_stalled(0, kLimitNs, kLimitNs));
  EXPECT_FALSE(pulse.finds_stalled(0, kLimitNs + 1, kLimitNs));
  EXPECT_TRUE(pulse.finds_stalled(0, kLimitNs + 2, kLimitNs));
  EXPECT_TRUE(pulse.finds_stalled(0, 2 * kLimitNs, kLimitNs));
  EXPECT_FALSE(pulse.finds_stalled(2 * kLimitNs, 2 * kLimitNs + 1, kLimitNs)) << "it turns again";
}

TEST(EnginePulse, OneLateProbeAfterAStopOfTheProcessIsNothing) {
  EnginePulse pulse;
  EXPECT_FALSE(pulse.finds_stalled(0, 100 * kSecond, kLimitNs));
  EXPECT_FALSE(pulse.finds_stalled(101 * kSecond, 101 * kSecond, kLimitNs));
  EXPECT_FALSE(pulse.finds_stalled(101 * kSecond, 200 * kSecond, kLimitNs));
}

TEST(EnginePulse, AnEngineWhoseTurnIsAheadOfTheProbesClockTurns) {
  EnginePulse pulse;
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(pulse.finds_stalled(5, 4, 0));
}

TEST(EnginePulse, TheLimitIsTheLongestRunOfAnyTenantsProgramAndAMargin) {
  ServiceLimits limits;
  limits.instance.cpu_ns_between_waits_max = 3 * kSecond;
  EXPECT_EQ(engine_turn_ns_max(limits), 13 * kSecond);
  limits.tenant_instances[control::TenantId{1}].cpu_ns_between_waits_max = 60 * kSecond;
  EXPECT_EQ(engine_turn_ns_max(limits), 70 * kSecond);
  limits.tenant_instances[control::TenantId{2}].cpu_ns_between_waits_max = UINT64_MAX;
  EXPECT_EQ(engine_turn_ns_max(limits), UINT64_MAX);
}

// The engine never turns, and the link is that of a server whose model is loaded.
TEST(EnginePulse, HealthSaysThatTheEngineStands) {
  ManualClock clock;
  Wakeup wakeup;
  SocketLimits limits;
  limits.engine_turn_ns_max = kLimitNs;
  Link link(limits, {}, 0, wakeup);
  link.clock = &clock;
  auto opened = SocketServer::open({"127.0.0.1", 0}, {}, limits, link, [](const LogEvent&) {});
  ASSERT_TRUE(opened.ok()) << opened.error().message();
  const std::uint16_t port = opened.value()->endpoint().port;
  const auto get = [port](const std::string& target) {
    return RawClient(port).http("GET " + target +
                                " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  };
  const std::string paths[] = {"/health/live", "/health/ready", "/health"};
  for (const std::string& each : paths) EXPECT_TRUE(get(each).starts_with("HTTP/1.1 200 ")) << each;
  clock.advance_ns(kLimitNs + 1);
  for (const std::string& each : paths) EXPECT_TRUE(get(each).starts_with("HTTP/1.1 200 ")) << each;
  for (const std::string& each : paths) {
    const std::string answer = get(each);
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 503 ")) << each;
    EXPECT_NE(answer.find("\"status\":\"stalled\""), std::string::npos) << answer;
  }
  link.is_loading = true;
  EXPECT_TRUE(get("/health/live").starts_with("HTTP/1.1 200 "));
}

}  // namespace
}  // namespace quire::server
