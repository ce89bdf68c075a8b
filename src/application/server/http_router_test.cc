#include "application/server/http_router.h"

#include <gtest/gtest.h>

namespace quire::server {
namespace {

HttpHead head(std::string host = "localhost:7847", std::string target = "/") {
  return {"GET", std::move(target), {std::move(host)}, {}, false, {}};
}
HttpHead upgrade(std::string host = "localhost:7847") {
  HttpHead upgrade = head(std::move(host));
  upgrade.is_upgrade = true;
  upgrade.subprotocols = {"quire.1"};
  return upgrade;
}
const HttpRouter kRouter({"127.0.0.1", 7847});

// 101: a WebSocket.
std::uint32_t status_of(const HttpHead& request, Readiness readiness = Readiness::Ready) {
  const auto decision = kRouter.decide(request, readiness);
  const auto* answer = std::get_if<HttpAnswer>(&decision);
  return answer == nullptr ? 101 : answer->status;
}

TEST(HttpRouter, LetsInWhoNamesThisMachineAndNobodyElse) {
  for (const char* host :
       {"localhost", "LocalHost:1", "127.0.0.1:7847", "127.9.8.7", "[::1]:80", "[::1]"}) {
    EXPECT_EQ(status_of(upgrade(host)), 101u) << host;
    EXPECT_EQ(status_of(head(host)), 200u) << host;
  }
  for (const char* host :
       {"example.com", "127.0.0.1.example.com", "localhost.example.com", "0.0.0.0", "10.0.0.1",
        "127.0.0.1@example.com", "127.1", "2130706433", "0177.0.0.1", "127.0.0.1:80:80",
        "localhost:", "localhost:x", "[::1", "[::2]", "::1", "", "127.0.0.256", "1270.0.0.1"}) {
    EXPECT_EQ(status_of(upgrade(host)), 403u) << host;
    EXPECT_EQ(status_of(head(host)), 403u) << host;
  }
  HttpHead two = upgrade();
  two.hosts.push_back("localhost");
  EXPECT_EQ(status_of(two), 400u);
  two.hosts.clear();
  EXPECT_EQ(status_of(two), 400u);
}

TEST(HttpRouter, RefusesPagesOfOtherOrigins) {
  HttpHead own = upgrade();
  own.origins = {"http://localhost:7847"};
  EXPECT_EQ(status_of(own), 101u);
  for (const char* origin : {"http://localhost:3000", "https://localhost:7847", "null",
                             "http://example.com", "http://localhost:7847.example.com", ""}) {
    HttpHead other = upgrade();
    other.origins = {origin};
    EXPECT_EQ(status_of(other), 403u) << origin;
    other.is_upgrade = false;
    EXPECT_EQ(status_of(other), 403u) << origin;
  }
  own.origins.push_back("http://example.com");
  EXPECT_EQ(status_of(own), 403u);
}

TEST(HttpRouter, AWebSocketNeedsTheRightPlaceAndVersion) {
  HttpHead request = upgrade();
  request.target = "/v1";
  EXPECT_EQ(status_of(request), 404u);
  request = upgrade();
  request.subprotocols = {"quire.2", "chat"};
  EXPECT_EQ(status_of(request), 400u);
  request.subprotocols.push_back("quire.1");
  EXPECT_EQ(status_of(request), 101u);
  EXPECT_EQ(status_of(request, Readiness::ShuttingDown), 503u);
}

TEST(HttpRouter, AnswersWhoLooksAround) {
  EXPECT_EQ(status_of(head("localhost", "/health")), 200u);
  EXPECT_EQ(status_of(head("localhost", "/health"), Readiness::ShuttingDown), 503u);
  EXPECT_EQ(status_of(head("localhost", "/nothing")), 404u);
  HttpHead post = head();
  post.method = "POST";
  EXPECT_EQ(status_of(post), 405u);
  const auto decision = kRouter.decide(head("localhost:99"), Readiness::Ready);
  const auto& answer = std::get<HttpAnswer>(decision);
  EXPECT_NE(answer.body.find(R"("websocket":"ws://localhost:99/")"), std::string::npos)
      << answer.body;
  EXPECT_NE(answer.body.find(R"("subprotocol":"quire.1")"), std::string::npos) << answer.body;
}

TEST(HttpRouter, HealthTellsWhetherItLivesAndWhetherItIsReadyAndWhyNot) {
  const auto body_of = [](const char* target, Readiness readiness) {
    return std::get<HttpAnswer>(kRouter.decide(head("localhost", target), readiness)).body;
  };
  for (const Readiness each :
       {Readiness::Ready, Readiness::Loading, Readiness::Full, Readiness::ShuttingDown}) {
    EXPECT_EQ(status_of(head("localhost", "/health/live"), each), 200u);
    EXPECT_EQ(status_of(head("localhost", "/health/ready"), each),
              each == Readiness::Ready ? 200u : 503u);
  }
  EXPECT_EQ(body_of("/health/ready", Readiness::Ready), "{\"status\":\"ok\"}\n");
  EXPECT_NE(body_of("/health/ready", Readiness::Loading).find("loading its model"),
            std::string::npos);
  EXPECT_NE(body_of("/health/ready", Readiness::Full).find("--instances"), std::string::npos);
  EXPECT_NE(body_of("/health/ready", Readiness::ShuttingDown).find("shutting down"),
            std::string::npos);
  // A full server may have a place by the time a request gets to it.
  EXPECT_EQ(status_of(head("localhost", "/health"), Readiness::Full), 200u);
  EXPECT_EQ(status_of(upgrade(), Readiness::Full), 101u);
  EXPECT_EQ(status_of(upgrade(), Readiness::Loading), 503u);
  EXPECT_EQ(status_of(head("localhost", "/v1/models"), Readiness::Loading), 503u);
}

TEST(HttpRouter, WhatOthersCanReachIsRefusedWithTheReason) {
  for (const char* own : {"127.0.0.1", "127.1.2.3", "::1", "localhost"}) {
    EXPECT_TRUE(check_loopback({own, 80}).ok()) << own;
  }
  for (const char* wide :
       {"0.0.0.0", "::", "192.168.0.1", "example.com", "127.1", "::ffff:127.0.0.1"}) {
    const Result<void> checked = check_loopback({wide, 80});
    ASSERT_FALSE(checked.ok()) << wide;
    EXPECT_EQ(checked.error().code(), ErrorCode::PermissionDenied);
    EXPECT_NE(checked.error().message().find("keys"), std::string_view::npos);
  }
}

}  // namespace
}  // namespace quire::server
