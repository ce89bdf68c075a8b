// Requests to endpoints, over real sockets on loopback.
#include <gtest/gtest.h>

#include <map>

#include "application/server/server_test_support.h"
#include "base/resident_bytes_test_support.h"

namespace quire::server {
namespace {

// The first argument says what the guest does:
//   "echo", "head"     gives the body, or the head, of the request back
//   "stream"           sends as many tokens as the second argument says, or endlessly for -1
//   "late"             responds after 20 ms
//   "trap", "silent"   ends without a response
//   "short"            ends in the middle of its response
//   "after"            traps after a whole response
//   "hang", "insist"   responds in part and waits; "insist" goes on without its client
class HttpGuest final : public TalkingGuest {
 public:
  FakeAction step(FakeHost& host) override {
    if (mode_.empty()) begin(host);
    if (mode_ == "trap") return {FakeAction::Kind::Trap, 0, "a trap"};
    if (mode_ == "silent") return {FakeAction::Kind::Finish, 3, ""};
    if (mode_ == "fail") return fail(host);
    if (mode_ == "echo" || mode_ == "head") return echo(host);
    if (mode_ == "stream") return stream(host);
    if (mode_ == "late") return late(host);
    if (mode_ == "after") {
      respond(host, 204, "");
      host.call("serve", "finish-response", {});
      return {FakeAction::Kind::Trap, 0, "a trap after the response"};
    }
    respond(host, 200, "", mode_ == "insist" ? 1 : 0);
    write(host, "half");
    if (mode_ == "short") return {};
    mode_ = "wait";
    return sleep(host, 1'000'000'000'000);
  }

 private:
  static std::string argument(FakeHost& host, std::int64_t index) {
    const std::int64_t bytes = host.call("runtime", "get-arg", {index, kGuestBuffer, 64}).value;
    return bytes < 0 ? "" : host.get(kGuestBuffer, static_cast<std::uint32_t>(bytes));
  }
  void begin(FakeHost& host) {
    mode_ = argument(host, 0);
    const std::string count = argument(host, 1);
    count_ = count.empty() ? 0 : std::stoi(count);
    const std::int64_t bytes = host.call("serve", "request-head", {kGuestBuffer, 32768}).value;
    head_ = host.get(kGuestBuffer + 12, static_cast<std::uint32_t>(bytes) - 12);
  }
  static std::int64_t respond(FakeHost& host, std::int64_t status, std::string_view headers,
                              std::int64_t flags = 0) {
    return host
        .call("serve", "respond",
              {status, host.put(kGuestBuffer, headers), static_cast<std::int64_t>(headers.size()),
               flags})
        .value;
  }
  static std::int64_t write(FakeHost& host, std::string_view part) {
    return host
        .call("serve", "write-response",
              {host.put(kGuestBuffer, part), static_cast<std::int64_t>(part.size())})
        .value;
  }
  FakeAction echo(FakeHost& host) {
    if (future_ != 0) {
      const std::optional<std::string> part = take(host, future_);
      if (!part) return {FakeAction::Kind::Finish, 3, ""};
      if (part->empty()) {
        if (mode_ == "head") body_ = head_;
        respond(host, 200, "content-length: " + std::to_string(body_.size()) + "\n");
        for (std::size_t at = 0; at < body_.size(); at += 30'000) {
          write(host, body_.substr(at, 30'000));
        }
        host.call("serve", "finish-response", {});
        return {};
      }
      body_ += *part;
    }
    future_ = host.call("serve", "read-request", {}).value;
    return wait_for(host, future_);
  }
  FakeAction stream(FakeHost& host) {
    if (future_ == 0) {
      respond(host, 200, "content-type: text/event-stream\n");
    } else if (!take(host, future_)) {
      return {FakeAction::Kind::Finish, 3, ""};
    }
    if (said_ == count_) {
      host.call("serve", "finish-response", {});
      return {};
    }
    future_ = write(host, "data: " + std::to_string(said_++) + "\n\n");
    return wait_for(host, future_);
  }
  static void log(FakeHost& host, service::LogLevel level, std::string_view text) {
    host.call("runtime", "log",
              {static_cast<std::int64_t>(level), host.put(kGuestBuffer, text),
               static_cast<std::int64_t>(text.size())});
  }
  // The guest logs an error that it survives, and one that it does not.
  FakeAction fail(FakeHost& host) {
    log(host, service::LogLevel::Error, "tried once");
    if (!std::exchange(has_slept_, true)) return sleep(host, 20'000'000);
    log(host, service::LogLevel::Debug, "a detail");
    log(host, service::LogLevel::Error, "invalid-argument: two\nlines");
    return {FakeAction::Kind::Finish, 17, ""};
  }
  FakeAction late(FakeHost& host) {
    if (!std::exchange(has_slept_, true)) return sleep(host, 20'000'000);
    respond(host, 200, "content-length: 4\n");
    write(host, "late");
    host.call("serve", "finish-response", {});
    return {};
  }

  std::string mode_, head_, body_;
  std::int64_t future_ = 0;
  int said_ = 0, count_ = 0;
  bool has_slept_ = false;
};

// Responds with "fixed", whatever the request is.
class FixedGuest final : public TalkingGuest {
 public:
  FakeAction step(FakeHost& host) override {
    host.call("serve", "respond", {200, kGuestBuffer, 0, 0});
    host.call("serve", "write-response", {host.put(kGuestBuffer, "fixed"), 5});
    host.call("serve", "finish-response", {});
    return {};
  }
};

ServerOptions with_endpoints() {
  ServerOptions options;
  std::vector<EndpointRule> rules;
  for (const char* each :
       {"POST /echo=http echo", "GET /echo=http echo", "POST /head/*=http head",
        "GET /stream=http stream 100", "GET /endless=http stream -1", "GET /trap=http trap",
        "GET /silent=http silent", "GET /short=http short", "GET /hang=http hang",
        "GET /insist=http insist", "GET /late=http late", "GET /gone=gone hang",
        "GET /after=http after", "GET /fail=http fail", "POST /swap=swap echo"}) {
    rules.push_back(parse_endpoint_rule(each).take());
  }
  options.endpoints = EndpointTable::create(std::move(rules)).take();
  options.allowed_origins = {"https://page.example"};
  return options;
}

class Endpoints : public testing::Test {
 protected:
  void serve(const ServerOptions& options = with_endpoints(),
             const lifecycle::AdmissionLimits& limits = kPlaces) {
    server.emplace(options, limits, [this](ServedEngine& served) {
      served.runtime.add_program("http", [] { return std::make_unique<HttpGuest>(); });
      served.runtime.add_program("fixed", [] { return std::make_unique<FixedGuest>(); });
      for (const char* each : {"http", "fixed"}) served.names.emplace_back(each);
      served.engine.manager.name_tenant(control::TenantId{0}, 1, tenant_limits);
    });
  }
  std::string ask(const std::string& request) { return RawClient(server->port()).http(request); }
  static std::string get(const std::string& target, const std::string& more = "") {
    return "GET " + target + " HTTP/1.1\r\nHost: localhost\r\n" + more + "\r\n";
  }
  static std::string post(const std::string& target, const std::string& body,
                          const std::string& more = "") {
    return "POST " + target + " HTTP/1.1\r\nHost: localhost\r\n" + more +
           "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  }
  static std::size_t count_of(std::string_view text, std::string_view part) {
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
    return count;
  }
  void wait_until_idle() {
    server->status_when([](const wire::StatusReply& now) {
      return now.instance_count == 0 && now.connection_count == 1;
    });
  }

  wire::Figures figures() {
    RawClient client = server->connect();
    const auto reply = client.ask(wire::Status{true});
    const auto* status = as<wire::StatusReply>(reply);
    EXPECT_TRUE(status != nullptr && status->detail) << refusal(reply);
    return status != nullptr && status->detail ? status->detail->figures : wire::Figures{};
  }

  lifecycle::TenantLimits tenant_limits;  // Of the tenant that requests count for.
  std::optional<RunningServer> server;
};

const std::string kClose = "Connection: close\r\n";

TEST_F(Endpoints, ARequestBecomesAResponse) {
  serve();
  const std::string answer = ask(post("/echo", "hello", kClose));
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\n")) << answer;
  EXPECT_TRUE(answer.ends_with("\r\n\r\nhello")) << answer;
  EXPECT_NE(answer.find("content-length: 5\r\n"), std::string::npos) << answer;
  EXPECT_NE(answer.find("X-Request-Id: req_"), std::string::npos) << answer;
}

TEST_F(Endpoints, TheProgramHasTheHeadOfTheRequest) {
  serve();
  const std::string answer =
      ask(post("/head/a?b=c", "", kClose + "X-Request-Id: mine-7\r\nA: b\r\n"));
  EXPECT_NE(answer.find("POST/head/a?b=chost: localhost\n"), std::string::npos) << answer;
  EXPECT_NE(answer.find("a: b\n"), std::string::npos) << answer;
  EXPECT_NE(answer.find("x-request-id: mine-7\n"), std::string::npos) << answer;
  EXPECT_NE(answer.find("X-Request-Id: mine-7\r\n"), std::string::npos) << answer;
  EXPECT_EQ(answer.find("connection:"), std::string::npos) << "the connection is the server's";
  // An id that a log could take for something else is replaced.
  const std::string other = ask(post("/head/a", "", kClose + "X-Request-Id: a b\r\n"));
  EXPECT_NE(other.find("x-request-id: req_"), std::string::npos) << other;
}

TEST_F(Endpoints, TheKeyOfTheCallerIsNotGivenToTheProgram) {
  const std::string secrets = "Authorization: Bearer ";
  serve();
  std::string answer = ask(
      post("/head/a", "", kClose + secrets + "mine\r\nX-Api-Key: too\r\nX-Goog-Api-Key: and\r\n"));
  EXPECT_NE(answer.find("authorization: Bearer mine\n"), std::string::npos) << answer;
  EXPECT_NE(answer.find("x-api-key: too\n"), std::string::npos) << answer;
  EXPECT_NE(answer.find("x-goog-api-key: and\n"), std::string::npos) << answer;

  SeededRandom random(1);
  const std::string key = access::make_key(random);
  ServerOptions options = with_endpoints();
  options.keys = access::KeyRing()
                     .with({std::make_shared<const service::Principal>(
                                service::Principal{control::TenantId{3},
                                                   "alice",
                                                   {service::Right::Launch},
                                                   access::digest_of_key(key)}),
                            "2026-11-25T19:10:00Z"})
                     .take();
  serve(options);
  answer =
      ask(post("/head/a", "",
               kClose + secrets + key + "\r\nX-Api-Key: " + key + "\r\nX-Goog-Api-Key: " + key +
                   "\r\nSec-WebSocket-Protocol: quire.key." + key + "\r\n"));
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\n")) << answer;
  EXPECT_NE(answer.find("host: localhost\n"), std::string::npos) << answer;
  EXPECT_EQ(answer.find(key), std::string::npos) << answer;
  EXPECT_EQ(answer.find("authorization"), std::string::npos) << answer;
  EXPECT_EQ(answer.find("x-goog"), std::string::npos) << answer;
  EXPECT_TRUE(ask(post("/head/a", "", kClose)).starts_with("HTTP/1.1 401 Unauthorized\r\n"));
}

TEST_F(Endpoints, ATenantThatUsedUpItsRateIsToldWhenToComeAgain) {
  ServerOptions options = with_endpoints();
  options.service.tenant_rates[control::TenantId{0}].requests_per_minute = 2;
  serve(options);
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(ask(post("/echo", "x", kClose)).starts_with("HTTP/1.1 200 OK\r\n"));
  }
  const std::string answer = ask(post("/echo", "x", kClose));
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 429 ")) << answer;
  EXPECT_NE(answer.find("tenant 0: requests_per_minute: the tenant used its 2 requests"),
            std::string::npos)
      << answer;
  const std::size_t at = answer.find("Retry-After: ");
  ASSERT_NE(at, std::string::npos) << answer;
  const int seconds = std::stoi(answer.substr(at + 13));
  EXPECT_GT(seconds, 0);
  EXPECT_LE(seconds, 30);
  launch(*std::make_unique<RawClient>(server->connect()), "say", {"a launch is no request"});
}

TEST_F(Endpoints, ALargeBodyComesInParts) {
  serve();
  std::string body;
  for (int i = 0; body.size() < 200'000; ++i) body += std::to_string(i) + " ";
  const std::string answer = ask(post("/echo", body, kClose));
  const std::string got = answer.substr(answer.find("\r\n\r\n") + 4);
  ASSERT_EQ(got.size(), body.size());
  const auto differs = std::mismatch(got.begin(), got.end(), body.begin()).first - got.begin();
  EXPECT_EQ(differs, static_cast<std::ptrdiff_t>(body.size()))
      << got.substr(static_cast<std::size_t>(differs), 20);
}

TEST_F(Endpoints, ABodyMayComeInChunksAndInAnyPieces) {
  serve();
  const std::string request =
      "POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n" + kClose +
      "\r\n5\r\nhello\r\n1;a=b\r\n,\r\n6\r\n world\r\n0\r\nTrailer: x\r\n\r\n";
  for (const std::size_t bytes : {request.size(), std::size_t{1}, std::size_t{7}}) {
    RawClient client(server->port());
    for (std::size_t at = 0; at < request.size(); at += bytes) {
      client.write(std::string_view(request).substr(at, bytes));
    }
    const std::string answer = client.http("");
    EXPECT_TRUE(answer.ends_with("\r\n\r\nhello, world")) << answer;
  }
}

TEST_F(Endpoints, AClientThatAwaitsContinueIsAskedForTheBody) {
  serve();
  RawClient client(server->port());
  client.write("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n" + kClose +
               "Expect: 100-continue\r\n\r\n");
  ASSERT_TRUE(client.read_until("HTTP/1.1 100 Continue\r\n\r\n"));
  EXPECT_TRUE(client.http("hello").ends_with("\r\n\r\nhello"));
  EXPECT_TRUE(ask(post("/echo", "", kClose + "Expect: magic\r\n")).starts_with("HTTP/1.1 417 "));
}

TEST_F(Endpoints, AConnectionCarriesRequestsOneAfterAnother) {
  serve();
  const std::string answers = ask(post("/echo", "one") + get("/stream") + get("/none") +
                                  post("/echo", "two") + get("/health") + get("/echo", kClose));
  EXPECT_EQ(count_of(answers, "HTTP/1.1 200 OK\r\n"), 5u) << answers;
  EXPECT_EQ(count_of(answers, "HTTP/1.1 404 "), 1u) << answers;
  EXPECT_LT(answers.find("one"), answers.find("data: 0")) << answers;
  EXPECT_LT(answers.find("data: 99"), answers.find("two")) << answers;
  wait_until_idle();
}

TEST_F(Endpoints, AStreamComesInChunksAndInOrder) {
  serve();
  const std::string answer = ask(get("/stream", kClose));
  EXPECT_NE(answer.find("Transfer-Encoding: chunked\r\n"), std::string::npos) << answer;
  std::size_t at = 0;
  for (int i = 0; i < 100; ++i) {
    at = answer.find("data: " + std::to_string(i) + "\n\n", at);
    ASSERT_NE(at, std::string::npos) << i;
  }
  EXPECT_TRUE(answer.ends_with("0\r\n\r\n"));
  // A client of HTTP/1.0 has no chunks: the end of the connection ends the body.
  const std::string old = ask("GET /stream HTTP/1.0\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(old.find("chunked"), std::string::npos) << old;
  EXPECT_TRUE(old.ends_with("data: 99\n\n")) << old;
}

TEST_F(Endpoints, AHeadIsAnsweredWithoutABody) {
  serve();
  const std::string answer = ask("HEAD /late HTTP/1.1\r\nHost: localhost\r\n" + kClose + "\r\n");
  EXPECT_TRUE(answer.ends_with("\r\n\r\n")) << answer;
  EXPECT_NE(answer.find("content-length: 4\r\n"), std::string::npos) << answer;
}

TEST_F(Endpoints, AProgramThatDoesNotRespondIsAnErrorOfTheServer) {
  serve();
  for (const char* path : {"/trap", "/silent"}) {
    const std::string answer = ask(get(path, kClose));
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 500 ")) << answer;
    EXPECT_NE(answer.find(R"({"error":{"code":"internal","message":")"), std::string::npos)
        << answer;
    EXPECT_NE(answer.find("; the log of the server has more under the request req_"),
              std::string::npos)
        << answer;
  }
  const std::string half = ask(get("/short"));
  EXPECT_TRUE(half.ends_with("4\r\nhalf\r\n")) << "the last chunk is missing: " << half;
  wait_until_idle();
}

TEST_F(Endpoints, TheOperatorIsToldHowAProgramEndedUnlessItsClientEndedIt) {
  serve();
  EXPECT_TRUE(ask(get("/after", kClose)).starts_with("HTTP/1.1 204 "));
  RawClient client(server->port());
  client.write(get("/hang"));
  ASSERT_TRUE(client.read_until("half"));
  client.close();
  wait_until_idle();
  const std::vector<std::string> told = server->told();
  ASSERT_EQ(told.size(), 1u) << told.back();
  EXPECT_TRUE(told[0].starts_with("GET /after req_")) << told[0];
  EXPECT_NE(told[0].find("a trap after the response"), std::string::npos) << told[0];
}

TEST_F(Endpoints, WhatIsNotThereIsSaidSo) {
  serve();
  const std::string none = ask(get("/nothing", kClose));
  EXPECT_TRUE(none.starts_with("HTTP/1.1 404 ")) << none;
  EXPECT_NE(none.find("endpoints at POST /echo"), std::string::npos) << none;
  const std::string wrong = ask("PUT /echo HTTP/1.1\r\nHost: localhost\r\n" + kClose + "\r\n");
  EXPECT_TRUE(wrong.starts_with("HTTP/1.1 405 ")) << wrong;
  EXPECT_NE(wrong.find("Allow: GET, HEAD, POST\r\n"), std::string::npos) << wrong;
}

TEST_F(Endpoints, AClientThatGoesEndsItsProgramUnlessThatAskedToGoOn) {
  serve();
  for (const bool is_reset : {false, true}) {
    RawClient client(server->port());
    client.write(get("/hang"));
    ASSERT_TRUE(client.read_until("half"));
    if (is_reset) {
      client.reset();
    } else {
      client.close();
    }
    wait_until_idle();
  }
  RawClient client(server->port());
  client.write(get("/insist"));
  ASSERT_TRUE(client.read_until("half"));
  client.close();
  server->status_when([](const wire::StatusReply& now) { return now.connection_count == 1; });
  EXPECT_EQ(server->status().instance_count, 1u);
}

TEST_F(Endpoints, ASlowReaderIsBoundedAndThenGone) {
  ServerOptions options = with_endpoints();
  options.sockets.response_part_time_max = std::chrono::milliseconds(300);
  serve(options);
  const std::size_t resident = resident_bytes();
  RawClient slow(server->port(), 4096);
  slow.write(get("/endless"));
  ASSERT_TRUE(slow.read_until("data: 0"));
  wait_until_idle();
  EXPECT_LT(resident_growth(resident), 16u << 20);
}

TEST_F(Endpoints, AReaderThatTakesALittleNowAndThenIsGoneToo) {
  ServerOptions options = with_endpoints();
  options.sockets.response_part_time_max = std::chrono::milliseconds(300);
  serve(options);
  RawClient slow(server->port(), 4096);
  slow.write(get("/endless"));
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(kPatienceMs);
  while (server->status().launched_count == 0 || server->status().instance_count > 0) {
    ASSERT_LT(std::chrono::steady_clock::now(), end);
    ASSERT_TRUE(slow.read_more());  // What the kernel holds comes after the server has closed.
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

TEST_F(Endpoints, ABodyThatDripsIsTimedOutAsAWhole) {
  ServerOptions options = with_endpoints();
  options.sockets.body_part_time_max = std::chrono::milliseconds(200);
  serve(options);
  RawClient slow(server->port());
  slow.write("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5000\r\n\r\n");
  const auto begin = std::chrono::steady_clock::now();
  while (!slow.has_input() && slow.write("x")) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    if (std::chrono::steady_clock::now() - begin > std::chrono::seconds(5)) break;
  }
  EXPECT_TRUE(slow.http("").starts_with("HTTP/1.1 408 "));
  wait_until_idle();
}

TEST_F(Endpoints, ASlowBodyIsTimedOut) {
  ServerOptions options = with_endpoints();
  options.sockets.body_part_time_max = std::chrono::milliseconds(100);
  serve(options);
  const std::string answer =
      ask("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nh");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 408 ")) << answer;
  wait_until_idle();
}

TEST_F(Endpoints, ABodyBeyondTheLimitIsRefused) {
  ServerOptions options = with_endpoints();
  options.sockets.request_body_bytes_max = 1000;
  serve(options);
  EXPECT_TRUE(ask(post("/echo", std::string(1001, 'x'))).starts_with("HTTP/1.1 413 "));
  const std::string chunked =
      ask("POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n3e8\r\n" +
          std::string(1000, 'x') + "\r\n1\r\nx\r\n0\r\n\r\n");
  EXPECT_TRUE(chunked.starts_with("HTTP/1.1 413 ")) << chunked;
  EXPECT_TRUE(ask(post("/echo", std::string(1000, 'x'), kClose)).starts_with("HTTP/1.1 200 "));
  wait_until_idle();
}

TEST_F(Endpoints, AFullServerSaysWhenToTryAgain) {
  lifecycle::AdmissionLimits limits = kPlaces;
  limits.instance_count_max = 1;
  serve(with_endpoints(), limits);
  RawClient first(server->port());
  first.write(get("/hang"));
  ASSERT_TRUE(first.read_until("half"));
  const std::string answer = ask(get("/late", kClose));
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 503 ")) << answer;
  EXPECT_NE(answer.find("Retry-After: "), std::string::npos) << answer;
  first.close();
  wait_until_idle();
}

TEST_F(Endpoints, ACallerThatHasAllThatItMayHaveIsToldToTryLater) {
  tenant_limits.instance_count_max = 1;
  serve();
  RawClient first(server->port());
  first.write(get("/hang"));
  ASSERT_TRUE(first.read_until("half"));
  const std::string answer = ask(get("/late", kClose));
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 429 Too Many Requests\r\n")) << answer;
  EXPECT_NE(answer.find("Retry-After: "), std::string::npos) << answer;
  EXPECT_NE(
      answer.find(R"("code":"quota-exceeded","message":"tenant 0: instance_count_max: 1 of 1)"),
      std::string::npos)
      << answer;
  first.close();
  wait_until_idle();
  EXPECT_TRUE(ask(get("/late", kClose)).starts_with("HTTP/1.1 200 "));
}

TEST_F(Endpoints, TheOperatorSeesHowManyRequestsThereWere) {
  tenant_limits.instance_count_max = 1;
  serve();
  ask(get("/late", kClose));
  wait_until_idle();
  RawClient first(server->port());
  first.write(get("/hang"));
  ASSERT_TRUE(first.read_until("half"));
  ask(get("/late", kClose));
  const wire::Figures open = figures();
  EXPECT_EQ(open.at("request_count").used, 2u);
  EXPECT_EQ(open.at("request_open_count").used, 1u);
  EXPECT_EQ(open.at("request_refused_count").used, 1u);
  EXPECT_EQ(open.at("request_abandoned_count").used, 0u);
  first.close();
  wait_until_idle();
  const wire::Figures closed = figures();
  EXPECT_EQ(closed.at("request_open_count").used, 0u);
  EXPECT_EQ(closed.at("request_abandoned_count").used, 1u);
  EXPECT_EQ(server->status().launched_count, 2u);
  EXPECT_EQ(server->status().refused_count, 1u);
}

TEST_F(Endpoints, SmugglingFormsAreRefused) {
  serve();
  const std::string next = get("/health");
  for (const char* header :
       {"Transfer-Encoding: gzip", "Transfer-Encoding: identity",
        "Transfer-Encoding: chunked, identity", "Transfer-Encoding: gzip, chunked",
        "Transfer-Encoding: xchunked", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
        "Content-Length: 5\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nContent-Length: 5", "Content-Length: 5\r\nContent-Length: 6",
        "Content-Length: 5\r\nContent-Length: 5", "Content-Length: +5", "Content-Length: 0x5",
        "Content-Length: 5, 5", "Content-Length: -1", "Content-Length : 5",
        "Content-Length: ", "Content-Length: 18446744073709551616"}) {
    const std::string answer =
        ask("POST /echo HTTP/1.1\r\nHost: localhost\r\n" + std::string(header) + "\r\n\r\n" + next);
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 4") || answer.starts_with("HTTP/1.1 501 "))
        << header << answer;
    EXPECT_EQ(count_of(answer, "HTTP/1.1 "), 1u) << header << "\n" << answer;
    EXPECT_EQ(count_of(answer, "status\":\"ok"), 0u) << header << "\n" << answer;
  }
  for (const char* body : {"x\r\n", "5\nhello\r\n0\r\n\r\n", "-1\r\n", "5\r\nhello0\r\n\r\n",
                           "ffffffffffffffffff\r\n", "5;\x01\r\nhello\r\n0\r\n\r\n"}) {
    const std::string answer =
        ask("POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n" +
            std::string(body) + next);
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 400 ")) << body << "\n" << answer;
    EXPECT_EQ(count_of(answer, "HTTP/1.1 "), 1u) << body << "\n" << answer;
  }
  wait_until_idle();
}

TEST_F(Endpoints, APageOfAnAllowedOriginMayUseEndpointsAndNoWebSocket) {
  serve();
  const std::string origin = "Origin: https://page.example\r\n";
  const std::string asked =
      ask("OPTIONS /echo HTTP/1.1\r\nHost: localhost\r\n" + origin + kClose +
          "Access-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: x-a\r\n\r\n");
  EXPECT_TRUE(asked.starts_with("HTTP/1.1 204 ")) << asked;
  for (const char* header : {"Access-Control-Allow-Origin: https://page.example\r\n",
                             "Access-Control-Allow-Methods: GET, HEAD, POST\r\n",
                             "Access-Control-Allow-Headers: x-a\r\n", "Vary: Origin\r\n"}) {
    EXPECT_NE(asked.find(header), std::string::npos) << asked;
  }
  const std::string answer = ask(post("/echo", "a", origin + kClose));
  EXPECT_NE(answer.find("Access-Control-Allow-Origin: https://page.example\r\n"), std::string::npos)
      << answer;
  EXPECT_NE(
      answer.find("Access-Control-Expose-Headers: X-Request-Id, Retry-After, X-Quire-Ignored"),
      std::string::npos)
      << answer;
  EXPECT_TRUE(ask(post("/echo", "a", "Origin: https://other.example\r\n" + kClose))
                  .starts_with("HTTP/1.1 403 "));
  EXPECT_FALSE(RawClient(server->port()).open(RawClient::handshake(origin)));
}

TEST_F(Endpoints, AProgramThatIsReplacedAnswersTheNextRequest) {
  serve();
  EXPECT_TRUE(ask(get("/gone", kClose)).starts_with("HTTP/1.1 500 "));
  RawClient client = server->connect();
  const auto named = client.ask(wire::NameProgram{sha256(bytes_of("http")), "gone"});
  EXPECT_TRUE(is_done(named)) << refusal(named);
  RawClient next(server->port());
  next.write(get("/gone"));
  EXPECT_TRUE(next.read_until("half"));
}

TEST_F(Endpoints, AReplacedProgramFinishesItsRequestsWhileTheNewOneAnswersTheNext) {
  serve();
  RawClient client = server->connect();
  ASSERT_TRUE(is_done(client.ask(wire::NameProgram{sha256(bytes_of("http")), "swap"})));
  RawClient old(server->port());
  old.write("POST /swap HTTP/1.1\r\nHost: localhost\r\n" + kClose + "Content-Length: 5\r\n\r\nhe");
  server->status_when([](const wire::StatusReply& now) { return now.instance_count == 1; });
  ASSERT_TRUE(is_done(client.ask(wire::NameProgram{sha256(bytes_of("fixed")), "swap"})));
  EXPECT_TRUE(ask(post("/swap", "x", kClose)).find("fixed") != std::string::npos);
  EXPECT_TRUE(old.http("llo").ends_with("\r\n\r\nhello")) << "the old program still answers";
}

TEST_F(Endpoints, RoundsOfRequestsAndResetsLeaveNothing) {
  serve();
  for (int round = 0; round < 300; ++round) {
    RawClient client(server->port());
    client.write(round % 3 == 0   ? get("/endless")
                 : round % 3 == 1 ? get("/late")
                                  : post("/echo", "x"));
    if (round % 2 == 0) client.read_until("HTTP/1.1 200");
    client.reset();
  }
  wait_until_idle();
}

std::string field(const LogEvent& event, std::string_view name) {
  for (const auto& [key, value] : event.fields) {
    if (key != name) continue;
    if (const auto* text = std::get_if<std::string>(&value)) return *text;
    if (const auto* count = std::get_if<std::uint64_t>(&value)) return std::to_string(*count);
    return "a number";
  }
  return "none";
}

TEST_F(Endpoints, TheOperatorLearnsHowEachRequestEndedAndTheMetricsCountIt) {
  serve();
  ask(post("/echo?key=secret", "hello", kClose + "X-Request-Id: one\r\n"));
  for (const char* each : {"/trap", "/short", "/silent"}) ask(get(each, kClose));
  {
    RawClient leaves(server->port());
    leaves.write(get("/hang"));
    ASSERT_TRUE(leaves.read_until("half"));
  }
  wait_until_idle();
  std::map<std::string, std::string> ends;
  for (const LogEvent& each : server->events()) {
    for (const auto& [name, value] : each.fields) {
      const auto* text = std::get_if<std::string>(&value);
      EXPECT_TRUE(text == nullptr || text->find("secret") == std::string::npos) << name;
    }
    if (std::string_view(each.name) != "request") continue;
    ends[field(each, "path")] =
        std::string(each.severity == Severity::Info ? "info " : "warning ") +
        field(each, "status") + " " + field(each, "outcome") + " " + field(each, "end");
    if (field(each, "path") == "/echo") {
      EXPECT_EQ(field(each, "request_id"), "one");
    }
  }
  EXPECT_EQ(ends["/echo"], "info 200 ok finished");
  EXPECT_EQ(ends["/trap"], "warning 500 server_error trapped");
  EXPECT_EQ(ends["/short"], "info 200 broken finished");
  EXPECT_EQ(ends["/silent"], "warning 500 server_error finished");
  EXPECT_EQ(ends["/hang"], "info 200 abandoned killed");
  const std::string page = ask(get("/metrics", kClose));
  EXPECT_NE(page.find("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"), page.npos);
  for (const char* each : {"POST /echo\",outcome=\"ok", "GET /trap\",outcome=\"server_error",
                           "GET /short\",outcome=\"broken", "GET /hang\",outcome=\"abandoned"}) {
    const std::string line =
        "\nquire_http_requests_total{endpoint=\"" + std::string(each) + "\"} 1\n";
    EXPECT_NE(page.find(line), page.npos) << line << page;
  }
  EXPECT_NE(page.find("\nquire_http_request_duration_seconds_count 5\n"), page.npos) << page;
  EXPECT_NE(page.find("\nquire_request_success_total{finished_reason=\"trapped\"} 1\n"), page.npos);
}

TEST_F(Endpoints, AFailedRequestIsOneLineForTheOperatorAndALineOfALogHasItsLevel) {
  serve();
  ask(get("/fail", kClose + "X-Request-Id: one\r\n"));
  wait_until_idle();
  std::vector<std::string> lines;
  for (const LogEvent& each : server->events()) {
    if (field(each, "path") != "/fail") continue;
    lines.push_back(std::to_string(static_cast<int>(each.severity)) + " " + each.text);
  }
  EXPECT_EQ(lines, (std::vector<std::string>{
                       "3 GET /fail one: tried once", "3 GET /fail one: tried once",
                       "0 GET /fail one: a detail",
                       "2 GET /fail one: finished, exit code 17: invalid-argument: two\nlines"}));
}

}  // namespace
}  // namespace quire::server
