#include "application/server/early_server.h"

#include <gtest/gtest.h>

#include "application/server/server_test_support.h"

namespace quire::server {
namespace {

std::string get_from(std::uint16_t port, const std::string& target) {
  return RawClient(port).http("GET " + target +
                              " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
}
std::string status_line(const std::string& answer) {
  return answer.substr(0, answer.find("\r\n"));
}
const std::string kOk = "HTTP/1.1 200 OK";
const std::string kUnavailable = "HTTP/1.1 503 Service Unavailable";

TEST(EarlyServer, LivesWhileTheModelLoadsAndIsReadyOnceTheServerHasItsPlace) {
  auto opened = EarlyServer::open({"127.0.0.1", 0}, {}, std::nullopt, [](const LogEvent&) {});
  ASSERT_TRUE(opened.ok()) << opened.error().message();
  std::unique_ptr<EarlyServer> early = std::move(opened).take();
  const std::uint16_t port = early->endpoint().port;
  EXPECT_EQ(status_line(get_from(port, "/health/live")), kOk);
  const std::string ready = get_from(port, "/health/ready");
  EXPECT_EQ(status_line(ready), kUnavailable);
  EXPECT_NE(ready.find("\"status\":\"loading\""), std::string::npos) << ready;
  for (const char* each : {"/health", "/metrics", "/v1/models"}) {
    EXPECT_EQ(status_line(get_from(port, each)), kUnavailable) << each;
  }
  EXPECT_NE(get_from(port, "/v1/models").find("Retry-After: 1\r\n"), std::string::npos);

  const SteadyClock clock;
  ServedEngine served(clock);
  auto server = Server::open(served.parts(clock), {}, std::move(early));
  ASSERT_TRUE(server.ok()) << server.error().message();
  EXPECT_EQ(server.value()->endpoint().port, port);
  EXPECT_EQ(status_line(get_from(port, "/health/ready")), kUnavailable);
  server.value()->set_ready();
  EXPECT_EQ(status_line(get_from(port, "/health/ready")), kOk);
}

TEST(EarlyServer, ATakenPortIsAnErrorBeforeTheModelLoads) {
  const auto quiet = [](const LogEvent&) {};
  const auto one = EarlyServer::open({"127.0.0.1", 0}, {}, std::nullopt, quiet);
  ASSERT_TRUE(one.ok());
  const auto other = EarlyServer::open(one.value()->endpoint(), {}, std::nullopt, quiet);
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().code(), ErrorCode::Io);
}

TEST(Health, AServerThatShutsDownIsAliveAndNotReadyUntilItsProgramsHaveEnded) {
  RunningServer server;
  RawClient client = server.connect();
  launch(client, "stubborn");
  EXPECT_EQ(status_line(get_from(server.port(), "/health/ready")), kOk);
  server.request_shutdown();
  std::string ready;
  for (int i = 0; i < 1000 && !ready.starts_with(kUnavailable); ++i) {
    ready = get_from(server.port(), "/health/ready");
  }
  EXPECT_NE(ready.find("\"status\":\"shutting-down\""), std::string::npos) << ready;
  EXPECT_EQ(status_line(get_from(server.port(), "/health/live")), kOk);
  EXPECT_EQ(status_line(get_from(server.port(), "/metrics")), kOk);
  server.request_shutdown();  // The second one stops the program at once.
  server.wait_until_stopped();
}

TEST(Health, AFullServerIsNotReadyAndLives) {
  RunningServer server({}, {.instance_count_max = 1, .waiting_launch_count_max = 0});
  RawClient client = server.connect();
  launch(client, "stubborn");
  std::string ready;
  for (int i = 0; i < 1000 && !ready.starts_with(kUnavailable); ++i) {
    ready = get_from(server.port(), "/health/ready");
  }
  EXPECT_NE(ready.find("\"status\":\"full\""), std::string::npos) << ready;
  EXPECT_EQ(status_line(get_from(server.port(), "/health/live")), kOk);
  EXPECT_EQ(status_line(get_from(server.port(), "/health")), kOk);
}

TEST(Health, ConnectionsBeyondTheLimitStillLearnThatTheServerLives) {
  ServerOptions options;
  options.sockets.connection_count_max = 1;
  RunningServer server(options);
  RawClient client = server.connect();
  EXPECT_EQ(status_line(get_from(server.port(), "/health/live")), kOk);
  const std::string ready = get_from(server.port(), "/health/ready");
  EXPECT_EQ(status_line(ready), kUnavailable);
  EXPECT_NE(ready.find("connection_count_max"), std::string::npos) << ready;
}

}  // namespace
}  // namespace quire::server
