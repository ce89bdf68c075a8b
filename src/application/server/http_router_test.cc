#include "application/server/http_router.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "base/random.h"

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
  const auto decision = kRouter.decide(request, readiness).route;
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

// The kubelet and load balancers know the server by an address of their own.
TEST(HttpRouter, HealthAnswersAProbeByAnyNameAndByNone) {
  for (const char* path : {"/health", "/health/live", "/health/ready", "/health?x=1",
                           "/health/live?", "/health/ready?a=/b"}) {
    for (const char* host : {"10.244.0.5:7847", "example.com", "", "localhost:", "[::1"}) {
      EXPECT_EQ(status_of(head(host, path)), 200u) << host << path;
    }
    HttpHead probe = head("", path);
    probe.hosts.clear();
    EXPECT_EQ(status_of(probe), 200u) << path;
    probe.is_http_1_0 = true;
    EXPECT_EQ(status_of(probe), 200u) << path;
    probe.method = "HEAD";
    EXPECT_EQ(status_of(probe), 200u) << path;
    probe.method = "POST";
    EXPECT_EQ(status_of(probe), 405u) << path;
    // Two Host headers leave in doubt which one is meant, and a page is not a probe.
    HttpHead two = head("localhost", path);
    two.hosts.push_back("localhost");
    EXPECT_EQ(status_of(two), 400u) << path;
    HttpHead page = head("example.com", path);
    page.origins = {"http://example.com"};
    EXPECT_EQ(status_of(page), 403u) << path;
  }
  for (const char* path : {"/", "/metrics", "/healthy", "/health/nothing", "/v1/models"}) {
    HttpHead other = head("10.244.0.5:7847", path);
    EXPECT_EQ(status_of(other), 403u) << path;
    other.hosts.clear();
    EXPECT_EQ(status_of(other), 400u) << path;
  }
  EXPECT_EQ(status_of(upgrade("10.244.0.5")), 403u);
}

TEST(HttpRouter, AQueryChangesNoneOfTheServersOwnPaths) {
  EXPECT_EQ(status_of(head("localhost", "/?x")), 200u);
  const Route route = kRouter.decide(head("localhost", "/metrics?x"), Readiness::Ready).route;
  EXPECT_TRUE(std::holds_alternative<ToMetrics>(route));
}

TEST(HttpRouter, TheHostOfATargetTakesThePlaceOfTheHeaderAndMustEqualIt) {
  const auto status = [](std::string authority, std::vector<std::string> hosts,
                         bool is_http_1_0 = false) {
    HttpHead asked = head();
    asked.authority = std::move(authority);
    asked.hosts = std::move(hosts);
    asked.is_http_1_0 = is_http_1_0;
    return status_of(asked);
  };
  EXPECT_EQ(status("localhost:7847", {"localhost:7847"}), 200u);
  EXPECT_EQ(status("LOCALHOST", {"localhost:80"}), 200u);
  EXPECT_EQ(status("[::1]:080", {"[::1]"}), 200u);
  EXPECT_EQ(status("example.com", {"example.com"}), 403u);
  EXPECT_EQ(status("example.com", {"localhost"}), 400u);
  EXPECT_EQ(status("localhost", {"example.com"}), 400u);
  EXPECT_EQ(status("localhost:1", {"localhost:2"}), 400u);
  EXPECT_EQ(status("localhost:1", {"localhost"}), 400u);
  EXPECT_EQ(status("localhost", {""}), 400u);
  EXPECT_EQ(status("localhost", {"localhost", "localhost"}), 400u);
  // HTTP/1.1 wants the header also where the target names the host.
  EXPECT_EQ(status("localhost", {}), 400u);
  EXPECT_EQ(status("localhost", {}, true), 200u);
  EXPECT_EQ(status("example.com", {}, true), 403u);
  HttpHead secure = head("localhost:443");
  secure.authority = "localhost";
  secure.default_port = 443;
  EXPECT_EQ(status_of(secure), 200u);
  HttpHead page = upgrade("localhost:7847");
  page.authority = "localhost:7847";
  page.origins = {"http://localhost:7847"};
  EXPECT_EQ(status_of(page), 101u);
  page.origins = {"http://example.com"};
  EXPECT_EQ(status_of(page), 403u);
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
  const auto decision = kRouter.decide(head("localhost:99"), Readiness::Ready).route;
  const auto& answer = std::get<HttpAnswer>(decision);
  EXPECT_NE(answer.body.find(R"("websocket":"ws://localhost:99/")"), std::string::npos)
      << answer.body;
  EXPECT_NE(answer.body.find(R"("subprotocol":"quire.1")"), std::string::npos) << answer.body;
}

TEST(HttpRouter, HealthTellsWhetherItLivesAndWhetherItIsReadyAndWhyNot) {
  const auto body_of = [](const char* target, Readiness readiness) {
    return std::get<HttpAnswer>(kRouter.decide(head("localhost", target), readiness).route).body;
  };
  for (const Readiness each :
       {Readiness::Ready, Readiness::Loading, Readiness::Full, Readiness::ShuttingDown}) {
    EXPECT_EQ(status_of(head("localhost", "/health/live"), each), 200u);
    EXPECT_EQ(status_of(head("localhost", "/health/ready"), each),
              each == Readiness::Ready ? 200u : 503u);
  }
  for (const std::string_view each : kHealthPaths) {
    EXPECT_EQ(status_of(head("localhost", std::string(each)), Readiness::Stalled), 503u) << each;
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
    EXPECT_TRUE(check_exposure({own, 80}, false).ok()) << own;
  }
  for (const char* wide :
       {"0.0.0.0", "::", "192.168.0.1", "example.com", "127.1", "::ffff:127.0.0.1"}) {
    const Result<void> checked = check_exposure({wide, 80}, false);
    ASSERT_FALSE(checked.ok()) << wide;
    EXPECT_EQ(checked.error().code(), ErrorCode::PermissionDenied);
    EXPECT_NE(checked.error().message().find("--keys"), std::string_view::npos);
    EXPECT_TRUE(check_exposure({wide, 80}, true).ok()) << wide;
  }
}

// ---- With keys.

WipedString wiped(std::string_view text) {
  return WipedString(text);
}

class KeyedRouter : public testing::Test {
 protected:
  static constexpr const char* kPaths[] = {"/",        "/v1/chat/completions", "/nothing",
                                           "/healthy", "/health/nothing",      "/healthy?x"};

  std::string add(std::string name, service::Rights rights,
                  std::optional<std::uint64_t> end_unix_s = {}) {
    SeededRandom random(next_seed_++);
    const std::string key = access::make_key(random);
    auto principal = std::make_shared<const service::Principal>(service::Principal{
        TenantId{3}, std::move(name), rights, access::digest_of_key(key), end_unix_s});
    keys_.replace(keys_.ring()->with({principal, "2026-11-25T19:10:00Z"}).take());
    return key;
  }
  static HttpHead with_bearer(HttpHead head, const std::string& key) {
    head.credentials.authorizations = {wiped("Bearer " + key)};
    return head;
  }
  Route decide(const HttpHead& head) const { return router_.decide(head, Readiness::Ready).route; }
  std::uint32_t status(const HttpHead& head) const {
    const Route route = decide(head);
    const auto* answer = std::get_if<HttpAnswer>(&route);
    if (answer != nullptr) return answer->status;
    return std::holds_alternative<Upgrade>(route) ? 101 : 0;
  }
  static EndpointTable endpoints() {
    return EndpointTable::create({{"POST", "/v1/chat/completions", false, "chat", {}}}).take();
  }

  ManualWallClock clock_;
  access::KeyHolder keys_{access::KeyRing(), clock_};
  const HttpRouter router_{
      {"10.0.0.1", 7847}, endpoints(), {"https://page.example"}, {&keys_, {"Models.example"}}};
  std::uint64_t next_seed_ = 1;
};

TEST_F(KeyedRouter, EachRouteButHealthNeedsAKey) {
  const std::string key = add("alice", {service::Right::Launch});
  const std::string other = add("bob", {service::Right::Launch});
  keys_.replace(keys_.ring()->without("bob").take());
  for (const char* path : kPaths) {
    for (const std::string& wrong : {std::string(), other, "x" + key, key + "A"}) {
      EXPECT_EQ(status(with_bearer(head("localhost", path), wrong)), 401u) << path;
    }
    EXPECT_EQ(status(head("localhost", path)), 401u) << path;
    EXPECT_NE(status(with_bearer(head("localhost", path), key)), 401u) << path;
  }
  EXPECT_EQ(status(upgrade()), 401u);
  EXPECT_EQ(status(with_bearer(upgrade(), key)), 101u);
  EXPECT_EQ(status(head("localhost", "/health")), 200u);
}

TEST_F(KeyedRouter, AKeyComesInAnyOfFourPlacesAndOnceInEach) {
  const std::string key = add("alice", {service::Right::Launch});
  HttpHead by_api_key = head();
  by_api_key.credentials.api_keys = {wiped(key)};
  EXPECT_EQ(status(by_api_key), 200u);
  by_api_key.credentials.api_keys = {wiped(key), wiped(key)};
  EXPECT_EQ(status(by_api_key), 401u);
  HttpHead by_google_key = head();
  by_google_key.credentials.google_keys = {wiped(key)};
  EXPECT_EQ(status(by_google_key), 200u);
  by_google_key.credentials.google_keys = {wiped(key), wiped(key)};
  EXPECT_EQ(status(by_google_key), 401u);
  HttpHead by_subprotocol = upgrade();
  by_subprotocol.credentials.subprotocol_keys = {wiped(key)};
  EXPECT_EQ(status(by_subprotocol), 101u);
  by_subprotocol.is_upgrade = false;
  EXPECT_EQ(status(by_subprotocol), 401u);
  HttpHead basic = head();
  basic.credentials.authorizations = {wiped("Basic " + key)};
  EXPECT_EQ(status(basic), 401u);
  basic.credentials.authorizations = {wiped("bEARER   " + key)};
  EXPECT_EQ(status(basic), 200u);
  basic.credentials.authorizations = {wiped("Bearer " + key), wiped("Bearer " + key)};
  EXPECT_EQ(status(basic), 401u);
  const Route route = decide(with_bearer(upgrade(), key));
  EXPECT_EQ(std::get<Upgrade>(route).caller->key_name, "alice");
}

// A proxy in front may have looked at the other one.
TEST_F(KeyedRouter, TwoCredentialsThatDifferAreNone) {
  const std::string alices = add("alice", {service::Right::Launch});
  const std::string bobs = add("bob", {service::Right::Launch});
  HttpHead both = with_bearer(head(), alices);
  both.credentials.api_keys = {wiped(alices)};
  EXPECT_EQ(status(both), 200u);
  both.credentials.api_keys = {wiped(bobs)};
  EXPECT_EQ(status(both), 401u);
  both.credentials.api_keys = {wiped("")};
  EXPECT_EQ(status(both), 401u);
  both.credentials.api_keys = {wiped(alices)};
  for (const char* other : {"", "Basic xyz", "Bearer ", "Bearer"}) {
    both.credentials.authorizations = {wiped(other)};
    EXPECT_EQ(status(both), 401u) << other;
  }
  for (const std::string& other : {bobs, std::string()}) {
    HttpHead google = head();
    google.credentials.google_keys = {wiped(alices)};
    EXPECT_EQ(status(google), 200u);
    google.credentials.api_keys = {wiped(other)};
    EXPECT_EQ(status(google), 401u) << other;
    google = with_bearer(head(), alices);
    google.credentials.google_keys = {wiped(other)};
    EXPECT_EQ(status(google), 401u) << other;
  }
  HttpHead socket = with_bearer(upgrade(), alices);
  socket.credentials.subprotocol_keys = {wiped(alices)};
  EXPECT_EQ(status(socket), 101u);
  socket.credentials.subprotocol_keys.push_back(wiped(bobs));
  EXPECT_EQ(status(socket), 401u);
  socket.credentials.subprotocol_keys = {wiped(bobs)};
  EXPECT_EQ(status(socket), 401u);
}

TEST_F(KeyedRouter, AKeyThatHasExpiredIsAnsweredAsOneThatIsUnknown) {
  const std::string key = add("alice", {service::Right::Launch}, 1'000);
  SeededRandom random(100);
  const HttpHead known = with_bearer(head(), key);
  const HttpHead unknown = with_bearer(head(), access::make_key(random));
  clock_.set_unix_ms(999'999);
  EXPECT_EQ(status(known), 200u);
  clock_.set_unix_ms(1'000'000);
  const Decision expired = router_.decide(known, Readiness::Ready);
  const Decision other = router_.decide(unknown, Readiness::Ready);
  const auto& answer = std::get<HttpAnswer>(expired.route);
  EXPECT_EQ(answer.status, 401u);
  EXPECT_EQ(answer.body, std::get<HttpAnswer>(other.route).body);
  EXPECT_EQ(answer.headers, std::get<HttpAnswer>(other.route).headers);
  EXPECT_EQ(expired.key_holder, nullptr);
  ASSERT_TRUE(expired.refused_key);
  EXPECT_EQ(expired.refused_key->why, KeyRefusal::Expired);
  EXPECT_EQ(expired.refused_key->key_name, "alice");
  EXPECT_EQ(other.refused_key->why, KeyRefusal::Unknown);
}

TEST_F(KeyedRouter, ADecisionSaysWhoseKnownKeyWasShown) {
  const std::string key = add("alice", {service::Right::Launch});
  const auto holder = [&](const HttpHead& asked) {
    return router_.decide(asked, Readiness::Ready).key_holder;
  };
  ASSERT_NE(holder(with_bearer(head("localhost", "/nothing"), key)), nullptr);
  EXPECT_EQ(holder(with_bearer(head("localhost", "/nothing"), key))->key_name, "alice");
  EXPECT_EQ(holder(with_bearer(head(), key + "x")), nullptr);
  EXPECT_EQ(holder(head()), nullptr);
  EXPECT_EQ(kRouter.decide(head(), Readiness::Ready).key_holder, nullptr) << "it needs none";
}

TEST_F(KeyedRouter, ARefusalHasTheFormOfThePathAndNoKey) {
  const auto body = [&](const char* path, const std::string& key) {
    HttpHead asked = with_bearer(head("localhost", path), key);
    asked.request_id = "req_1";
    const Route route = decide(asked);
    EXPECT_EQ(std::get<HttpAnswer>(route).headers.back().first, "WWW-Authenticate");
    return nlohmann::json::parse(std::get<HttpAnswer>(route).body);
  };
  SeededRandom random(77);
  const std::string unknown = access::make_key(random);
  const nlohmann::json open_ai = body("/v1/chat/completions?x=1", unknown);
  EXPECT_EQ(open_ai["error"]["code"], "invalid_api_key");
  EXPECT_EQ(open_ai["error"]["type"], "invalid_request_error");
  const nlohmann::json anthropic = body("/v1/messages", unknown);
  EXPECT_EQ(anthropic["type"], "error");
  EXPECT_EQ(anthropic["error"]["type"], "authentication_error");
  EXPECT_EQ(anthropic["request_id"], "req_1");
  for (const char* path : {"/v1beta/models/a:generateContent", "/v1beta/models?pageSize=1",
                           "/v1/models/a:streamGenerateContent?alt=sse"}) {
    EXPECT_EQ(body(path, unknown)["error"]["code"], 401) << path;
    EXPECT_EQ(body(path, unknown)["error"]["status"], "UNAUTHENTICATED") << path;
  }
  const nlohmann::json gemini = body("/v1beta/models/a:countTokens", unknown);
  const nlohmann::json own = body("/v1messages", unknown);
  EXPECT_EQ(own["error"]["code"], "permission-denied");
  for (const nlohmann::json& each : {open_ai, anthropic, gemini, own}) {
    EXPECT_EQ(each.dump().find(unknown), std::string::npos);
  }
}

// Proxies and logs keep the target of a request.
TEST_F(KeyedRouter, AKeyInAQueryOfGeminiIsRefusedBeforeAllElseAndNamedNowhere) {
  const std::string key = add("alice", {service::Right::Launch});
  for (const char* path : {"/v1beta/models/a:generateContent", "/v1beta/models", "/v1beta/nothing",
                           "/v1/models/a:countTokens", "/v1/models"}) {
    for (const char* query : {"?key=", "?alt=sse&key=", "?k%65y=", "?%6Bey=", "?access_token="}) {
      for (const HttpHead& asked : {head("localhost", path + (query + key)),
                                    with_bearer(head("localhost", path + (query + key)), key)}) {
        const Route route = decide(asked);
        const auto& answer = std::get<HttpAnswer>(route);
        EXPECT_EQ(answer.status, 400u) << asked.target;
        EXPECT_NE(answer.body.find("x-goog-api-key"), std::string::npos) << answer.body;
        EXPECT_EQ(answer.body.find(key), std::string::npos) << answer.body;
        const nlohmann::json error = nlohmann::json::parse(answer.body)["error"];
        const bool is_shared = asked.target.starts_with("/v1/models?");
        EXPECT_EQ(error[is_shared ? "type" : "status"],
                  is_shared ? "invalid_request_error" : "INVALID_ARGUMENT");
      }
    }
    EXPECT_EQ(status(head("localhost", std::string(path) + "?keys=1&monkey=2&alt=key")), 401u);
  }
  EXPECT_EQ(status(with_bearer(head("localhost", "/?key=" + key), key)), 200u);
}

TEST_F(KeyedRouter, WhatIsNotThereIsSaidInTheFormOfThePathWithoutTheQuery) {
  const std::string key = add("alice", {service::Right::Launch});
  const auto error = [&](const char* path) {
    const Route route = decide(with_bearer(head("localhost", path), key));
    const auto& answer = std::get<HttpAnswer>(route);
    EXPECT_EQ(answer.status, 404u);
    EXPECT_EQ(answer.body.find("secret"), std::string::npos) << answer.body;
    return nlohmann::json::parse(answer.body)["error"];
  };
  EXPECT_EQ(error("/v1beta/files?x=secret")["status"], "NOT_FOUND");
  EXPECT_EQ(error("/v1/nothing?x=secret")["type"], "invalid_request_error");
  EXPECT_EQ(error("/nothing?key=secret")["code"], "not-found");
}

TEST_F(KeyedRouter, AnEndpointNeedsTheRightToLaunch) {
  HttpHead post = head("localhost", "/v1/chat/completions");
  post.method = "POST";
  EXPECT_EQ(status(with_bearer(post, add("reader", {service::Right::SeeTenant}))), 403u);
  EXPECT_EQ(status(with_bearer(post, add("alice", {service::Right::Launch}))), 0u);
  EXPECT_EQ(status(with_bearer(post, add("admin", {service::Right::Operate}))), 0u);
}

TEST_F(KeyedRouter, TheHostIsTheAddressOrANameThatIsAllowed) {
  for (const char* host : {"10.0.0.1:7847", "localhost", "models.example:443", "MODELS.EXAMPLE"}) {
    EXPECT_EQ(status(head(host)), 401u) << host;
  }
  for (const char* host : {"other.example", "models.example.com", "10.0.0.2", "0.0.0.0"}) {
    EXPECT_EQ(status(head(host)), 403u) << host;
    EXPECT_EQ(status(head(host, "/health?from=balancer")), 200u) << host;
  }
}

TEST_F(KeyedRouter, APreflightHasNoKeyAndHearsNothingOfThePath) {
  std::set<std::string> heard;
  for (const char* path : kPaths) {
    HttpHead asked = head("localhost", path);
    asked.method = "OPTIONS";
    asked.origins = {"https://page.example"};
    asked.asked_method = "POST";
    const Route route = decide(asked);
    EXPECT_EQ(std::get<HttpAnswer>(route).status, 204u);
    heard.insert(std::get<HttpAnswer>(route).headers.front().second);
    asked.origins = {"https://other.example"};
    EXPECT_EQ(status(asked), 403u);
  }
  EXPECT_EQ(heard.size(), 1u);
  HttpHead page = with_bearer(upgrade(), add("alice", {service::Right::Launch}));
  page.origins = {"https://page.example"};
  EXPECT_EQ(status(page), 101u);
}

// As the image of a page elsewhere: a GET without an Origin. Programs must not be launched by it.
TEST(HttpRouter, APageOfAnotherSiteOnlyLinksToTheServer) {
  for (const char* path : {"/", "/v1/models", "/health", "/metrics"}) {
    HttpHead image = head("localhost", path);
    image.is_cross_site = true;
    EXPECT_EQ(status_of(image), 403u) << path;
    image.is_navigation = true;
    EXPECT_EQ(status_of(image), path == std::string_view("/") ? 200u : 403u) << path;
    image.method = "POST";
    EXPECT_EQ(status_of(image), 403u) << path;
  }
  const HttpRouter allows({"127.0.0.1", 7847}, {}, {"https://page.example"});
  HttpHead script = head();
  script.is_cross_site = true;
  script.origins = {"https://page.example"};
  const auto status = [&](const HttpRouter& router) {
    return std::get<HttpAnswer>(router.decide(script, Readiness::Ready).route).status;
  };
  EXPECT_EQ(status(allows), 200u);
  script.origins = {};
  EXPECT_EQ(status(allows), 403u);
  EXPECT_EQ(status(HttpRouter({"127.0.0.1", 7847}, {}, {"*"})), 200u) << "any page may";
}

TEST(HttpRouter, AHostThatIsAllowedIsANameOrAnAddress) {
  for (const char* good : {"models.example", "10.0.0.1", "fe80::1", "a"}) {
    EXPECT_TRUE(check_host_name(good).ok()) << good;
  }
  for (const char* bad : {"", "https://x", "x/y", "a b", "*"}) {
    EXPECT_FALSE(check_host_name(bad).ok()) << bad;
  }
}

}  // namespace
}  // namespace quire::server
