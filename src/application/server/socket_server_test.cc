// Clients do something wrong, or nothing at all, over real sockets on loopback.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "application/server/server_test_support.h"
#include "base/resident_bytes_test_support.h"
#include "base/sanitizer.h"

namespace quire::server {
namespace {

std::string get(std::uint16_t port, std::string_view target, std::string_view host = "localhost",
                std::string_view extra = "") {
  RawClient client(port);
  return client.http("GET " + std::string(target) + " HTTP/1.1\r\nHost: " + std::string(host) +
                     "\r\nConnection: close\r\n" + std::string(extra) + "\r\n");
}

std::size_t count_of(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(Sockets, PlainHttpIsAnsweredInJson) {
  RunningServer server;
  const std::string root = get(server.port(), "/");
  EXPECT_TRUE(root.starts_with("HTTP/1.1 200 OK\r\n")) << root;
  EXPECT_NE(root.find("Content-Type: application/json\r\n"), std::string::npos) << root;
  EXPECT_NE(root.find(R"("subprotocol":"quire.1")"), std::string::npos) << root;
  EXPECT_NE(get(server.port(), "/health").find(R"({"status":"ok"})"), std::string::npos);
  EXPECT_TRUE(get(server.port(), "/v1/models").starts_with("HTTP/1.1 404 "));
  RawClient post(server.port());
  const std::string answer =
      post.http("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n" +
                std::string(50'000, 'x'));
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 405 ")) << answer;
  RawClient head(server.port());
  EXPECT_TRUE(head.http("HEAD /health HTTP/1.1\r\nHost: localhost\r\n"
                        "Connection: close\r\n\r\n")
                  .ends_with("\r\n\r\n"));
}

TEST(Sockets, AConnectionCarriesRequestsOneAfterAnotherAndThenAWebSocket) {
  RunningServer server;
  const std::string health = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n";
  const std::string last = "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  // The requests come before the first is answered, and one of them is refused.
  const std::string missing = "GET /none HTTP/1.1\r\nHost: localhost\r\n\r\n";
  const std::string answers = RawClient(server.port()).http(health + missing + health + last);
  EXPECT_EQ(count_of(answers, "HTTP/1.1 200 OK\r\n"), 3u) << answers;
  EXPECT_EQ(count_of(answers, "HTTP/1.1 404 "), 1u) << answers;
  EXPECT_EQ(count_of(answers, "Connection: close\r\n"), 1u) << answers;
  RawClient client(server.port());
  client.write(health);
  EXPECT_TRUE(client.read_until("{\"status\":\"ok\"}\n"));
  EXPECT_TRUE(client.open());
}

// The bytes after a body that the server does not read could be read as a request.
TEST(Sockets, NothingIsReadAfterARequestWhoseEndIsNotKnown) {
  RunningServer server;
  const std::string next = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n";
  for (const char* header :
       {"Content-Length: 5", "Transfer-Encoding: chunked", "Transfer-Encoding: gzip",
        "Transfer-Encoding: identity", "Transfer-Encoding: chunked, identity",
        "Content-Length: 5\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nContent-Length: 5", "Content-Length: 5\r\nContent-Length: 6",
        "Content-Length: +5", "Content-Length: 0x5", "Content-Length: 5, 5", "Content-Length: -1",
        "Content-Length : 0", "Content-Length: 18446744073709551616"}) {
    const std::string answer = RawClient(server.port())
                                   .http("GET / HTTP/1.1\r\nHost: localhost\r\n" +
                                         std::string(header) + "\r\n\r\n" + next);
    EXPECT_LE(count_of(answer, "HTTP/1.1 "), 1u) << header << "\n" << answer;
    EXPECT_EQ(count_of(answer, "status\":\"ok"), 0u) << header << "\n" << answer;
  }
  // A client of HTTP/1.0 has to ask for it.
  const std::string old = "GET /health HTTP/1.0\r\nHost: localhost\r\n";
  EXPECT_EQ(count_of(RawClient(server.port()).http(old + "\r\n" + next), "status"), 1u);
}

TEST(Sockets, AConnectionThatAsksNoMoreIsClosedInTime) {
  ServerOptions options;
  options.sockets.keep_alive_time_max = std::chrono::milliseconds(200);
  RunningServer server(options);
  const std::string answer =
      RawClient(server.port()).http("GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(count_of(answer, "HTTP/1.1 200 OK\r\n"), 1u) << answer;
}

TEST(Sockets, AKeptConnectionMayBeIdleForLongerThanAHeadMayTake) {
  ServerOptions options;
  options.sockets.handshake_time_max = std::chrono::milliseconds(100);
  RunningServer server(options);
  RawClient client(server.port());
  for (int i = 0; i < 2; ++i) {
    client.write("GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n");
    ASSERT_TRUE(client.read_until("{\"status\":\"ok\"}\n")) << i;
    std::this_thread::sleep_for(3 * options.sockets.handshake_time_max);
  }
  // A further head that never ends has no more time than the first one.
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_EQ(client.http("GET / HTTP/1.1\r\nHost: loc"), "");
  EXPECT_LT(std::chrono::steady_clock::now() - begun, options.sockets.keep_alive_time_max / 10);
}

TEST(Sockets, OtherHostsAndOriginsAreRefused) {
  RunningServer server;
  EXPECT_TRUE(get(server.port(), "/", "evil.example").starts_with("HTTP/1.1 403 "));
  EXPECT_TRUE(get(server.port(), "/", "localhost", "Origin: http://evil.example\r\n")
                  .starts_with("HTTP/1.1 403 "));
  EXPECT_FALSE(RawClient(server.port()).open(RawClient::handshake("", "evil.example")));
  EXPECT_FALSE(
      RawClient(server.port()).open(RawClient::handshake("Origin: http://localhost:1\r\n")));
  EXPECT_FALSE(RawClient(server.port()).open(RawClient::handshake("", "localhost", "quire.2")));
  EXPECT_TRUE(
      RawClient(server.port()).open(RawClient::handshake("", "localhost", "chat, quire.1")));
}

TEST(Sockets, WhatIsNoHttpIsToldSoOrClosed) {
  ServerOptions options;
  options.sockets.handshake_time_max = std::chrono::milliseconds(200);
  RunningServer server(options);
  EXPECT_TRUE(RawClient(server.port()).http("nonsense\r\n\r\n").starts_with("HTTP/1.1 400 "));
  EXPECT_TRUE(get(server.port(), "/", "localhost", "X: " + std::string(20'000, 'x') + "\r\n")
                  .starts_with("HTTP/1.1 431 "));
  // A connection whose header never ends is closed in time.
  EXPECT_EQ(RawClient(server.port()).http("GET / HTTP/1.1\r\nHost: loc"), "");
  EXPECT_EQ(RawClient(server.port()).http(""), "");
  EXPECT_TRUE(
      RawClient(server.port()).http(RawClient::handshake() + "early").starts_with("HTTP/1.1 400 "));
  server.status();
}

TEST(Sockets, BrokenFramesCloseTheConnectionWithTheirCode) {
  RunningServer server;
  struct Case {
    std::string bytes;
    int close_code;
  };
  std::string oversize = RawClient::frame(RawClient::kText, "");
  oversize = std::string("\x81\xff", 2) + std::string("\0\0\0\0\0\x20\0\x01", 8) + "mask";
  for (const Case& each : {
           Case{RawClient::frame(RawClient::kText, "\xff\xfe"), 1007},
           Case{RawClient::frame(RawClient::kText, "{}", true, false), 1002},
           Case{RawClient::frame(static_cast<RawClient::Opcode>(5), "x"), 1002},
           Case{RawClient::frame(RawClient::kContinue, "x"), 1002},
           Case{RawClient::frame(RawClient::kPing, std::string(126, 'x')), 1002},
           Case{oversize, 1009},
           Case{RawClient::frame(RawClient::kText, "no json"), 1008},
           Case{RawClient::frame(RawClient::kText, R"({"verb":"list"})"), 1008},
           Case{RawClient::frame(RawClient::kBinary, "ab"), 1008},
       }) {
    RawClient client = server.connect();
    client.write(each.bytes);
    std::optional<wire::ServerFrame> frame = client.next();
    if (each.close_code == 1008) {
      ASSERT_TRUE(frame && std::holds_alternative<wire::ErrorEvent>(*frame));
      frame = client.next();
    }
    EXPECT_FALSE(frame);
    EXPECT_EQ(client.close_code(), each.close_code);
    EXPECT_FALSE(client.receive());
  }
  server.status();
}

TEST(Sockets, AFrameMayComeInPieces) {
  RunningServer server;
  RawClient client = server.connect();
  const wire::InstanceReply instance = launch(client, "echo");
  const std::string text(20'000, 'z');
  const wire::Message message = wire::encode(wire::Request{7, wire::Send{instance.instance, text}});
  for (std::size_t at = 0; at < message.bytes.size(); at += 999) {
    const bool is_last = at + 999 >= message.bytes.size();
    client.write(RawClient::frame(at == 0 ? RawClient::kBinary : RawClient::kContinue,
                                  std::string_view(message.bytes).substr(at, 999), is_last));
    client.write(RawClient::frame(RawClient::kPing, "between"));
  }
  EXPECT_EQ(client.event<wire::MessageEvent>()->bytes, text);
  const wire::Message status = wire::encode(wire::Request{8, wire::Status{}});
  for (const char each : RawClient::frame(RawClient::kText, status.bytes)) {
    client.write(std::string_view(&each, 1));
  }
  EXPECT_TRUE(client.reply_to(8));
}

TEST(Sockets, TooManyConnectionsAreToldSo) {
  ServerOptions options;
  options.sockets.connection_count_max = 3;
  RunningServer server(options);
  std::vector<RawClient> clients;
  for (int i = 0; i < 3; ++i) clients.push_back(server.connect());
  const std::string answer = get(server.port(), "/");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 503 ")) << answer;
  EXPECT_NE(answer.find("Retry-After: 1\r\n"), std::string::npos) << answer;
  EXPECT_NE(answer.find("connection_count_max"), std::string::npos) << answer;
  clients.pop_back();
  server.status_when([](const wire::StatusReply&) { return true; });
}

// Without keys all clients come from one address, perhaps.
TEST(Sockets, AtTheLimitTheConnectionThatIsLongestBetweenRequestsGivesItsPlaceAway) {
  ServerOptions options;
  options.sockets.connection_count_max = 3;
  RunningServer server(options);
  RawClient socket = server.connect();
  const std::string health = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n";
  std::vector<RawClient> clients;
  for (int i = 0; i < 8; ++i) {
    clients.emplace_back(server.port());
    clients.back().write(health);
    ASSERT_TRUE(clients.back().read_until("{\"status\":\"ok\"}\n")) << i;
  }
  EXPECT_FALSE(clients[5].read_more()) << "closed";
  clients[7].write(health);
  EXPECT_TRUE(clients[7].read_until("{\"status\":\"ok\"}\n"));
  EXPECT_NE(as<wire::StatusReply>(socket.ask(wire::Status{})), nullptr) << "a WebSocket stays";
}

// A client that reads no answers keeps no place by that.
TEST(Sockets, AnAnswerThatIsNotReadKeepsNoPlace) {
  ServerOptions options;
  options.sockets.connection_count_max = 3;
  RunningServer server(options);
  std::vector<RawClient> clients;
  for (int i = 0; i < 3; ++i) {
    clients.emplace_back(server.port(), 4096);
    std::string many;
    for (int j = 0; j < 100; ++j) many += "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    clients.back().set_write_patience({0, 50'000});
    for (int j = 0; j < 200 && clients.back().write(many); ++j) {
    }
  }
  EXPECT_TRUE(get(server.port(), "/health/ready").starts_with("HTTP/1.1 200 "));
}

TEST(Sockets, WhoDoesNotAnswerPingsIsGone) {
  ServerOptions options;
  options.sockets.idle_time_max = std::chrono::milliseconds(200);
  RunningServer server(options);
  RawClient silent = server.connect();
  std::optional<RawClient::Received> frame = silent.receive();
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->opcode, RawClient::kPing);
  while (silent.receive()) {
  }
  RawClient polite = server.connect();
  for (int i = 0; i < 5; ++i) {
    frame = polite.receive();
    ASSERT_TRUE(frame);
    ASSERT_EQ(frame->opcode, RawClient::kPing);
    polite.write(RawClient::frame(RawClient::kPong, frame->payload));
  }
}

// A client reads nothing: its guest is refused, and the server does not grow.
TEST(Sockets, ASlowReaderStopsItsGuestAndNotTheServer) {
  RunningServer server;
  RawClient slow(server.port(), 4096);
  ASSERT_TRUE(slow.open());
  launch(slow, "flood");
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(kPatienceMs);
  while (server.served().flood_refused < 100 && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ASSERT_GE(server.served().flood_refused, 100u) << "the guest was never told";
  const std::size_t resident = resident_bytes();
  const std::uint64_t refused = server.served().flood_refused;
  while (server.served().flood_refused < refused + 1000 && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_LT(resident_growth(resident), 1u << 20);
  EXPECT_EQ(server.status().instance_count, 1u) << "others are served meanwhile";
  // Nothing of what the guest was allowed to say is lost or out of order.
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    const auto message = slow.event<wire::MessageEvent>();
    ASSERT_TRUE(message);
    ASSERT_EQ(std::stoull(message->bytes), i);
  }
}

// The engine charges a small message less than a reply takes. Even while as many of them wait as
// may, the server reads the client.
TEST(Sockets, AClientIsHeardBesideAFloodOfSmallMessages) {
  RunningServer server;
  ServedEngine& served = server.served();
  const std::string name = "small flood";
  served.runtime.add_program(name, [&served] {
    return std::make_unique<FloodGuest>(served.flood_sent, served.flood_refused, 8);
  });
  RawClient client(server.port(), 4096);
  ASSERT_TRUE(client.open());
  client.ask(wire::Upload{*by_digest(name).digest, name.size(), 0, name});
  const auto launched = client.ask(wire::Launch{by_digest(name), {}, {}, false});
  ASSERT_TRUE(launched && std::holds_alternative<wire::InstanceReply>(*launched));
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(kPatienceMs);
  // Until neither the socket nor the engine takes any more.
  std::uint64_t sent = 0;
  while ((sent == 0 || served.flood_sent > sent) && std::chrono::steady_clock::now() < end) {
    sent = served.flood_sent;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  ASSERT_EQ(served.flood_sent, sent) << "the guest was never told";
  for (std::uint64_t id = 1001; id <= 1010; ++id) client.send({id, launch_of("stubborn")});
  server.status_when([](const wire::StatusReply& status) { return status.instance_count == 11; });
  for (std::uint64_t id = 1001; id <= 1010; ++id) EXPECT_TRUE(client.reply_to(id));
  EXPECT_TRUE(
      client.ask(wire::Abort{std::get<wire::InstanceReply>(*launched).instance}).has_value());
}

TEST(Sockets, AClientThatReadsNoRepliesIsNotReadEither) {
  RunningServer server;
  RawClient slow(server.port(), 4096);
  ASSERT_TRUE(slow.open());
  const std::size_t resident = resident_bytes();
  const std::string frame =
      RawClient::frame(RawClient::kText, wire::encode(wire::Request{1, wire::Status{}}).bytes);
  std::string bytes;
  for (int i = 0; i < 1000; ++i) bytes += frame;
  // The kernel's buffers hold some megabytes; then writing would block.
  timeval patience{0, 300'000};
  std::size_t written = 0;
  slow.set_write_patience(patience);
  while (written < (200u << 20) && slow.write(bytes)) written += bytes.size();
  EXPECT_LT(written, 200u << 20) << "the server reads on although nobody takes its replies";
  EXPECT_LT(resident_growth(resident), 16u << 20);
  server.status();
}

// A sanitizer's threads take hundreds of milliseconds for the replies alone.
constexpr int kTimes = kUnderSanitizer ? 5 : 1;
constexpr std::chrono::milliseconds kIdleTimeMax{400 * kTimes};
constexpr std::chrono::milliseconds kStall{1'000 * kTimes};

// One whose replies fill the socket and then wait, so that nothing is read from it any more; it
// says that it is there all the same. Returns how many of its requests
// were not answered in the end.
int unanswered_behind_a_stall(const RunningServer& server, std::chrono::milliseconds stall) {
  constexpr int kRequestCount = 200;  // For 30 MB; the kernel's buffers hold some.
  RawClient client(server.port(), 4096);
  EXPECT_TRUE(client.open());
  for (int i = 0; i < 1000; ++i) launch(client, "stubborn");
  for (int i = 0; i < kRequestCount; ++i) {
    client.send({2000 + static_cast<std::uint64_t>(i), wire::List{}});
    // Asked for faster than they are written, most would be refused in a few bytes.
    std::this_thread::sleep_for(std::chrono::milliseconds(2 * kTimes));
  }
  const auto end = std::chrono::steady_clock::now() + stall;
  while (std::chrono::steady_clock::now() < end) {
    client.write(RawClient::frame(RawClient::kPong, ""));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  int answered = 0;
  while (answered < kRequestCount && client.reply_to(2000 + static_cast<std::uint64_t>(answered))) {
    ++answered;
  }
  return kRequestCount - answered;
}

TEST(Sockets, AClientThatIsNotReadIsNotTakenForGone) {
  ServerOptions options;
  options.sockets.idle_time_max = kIdleTimeMax;
  RunningServer server(options);
  EXPECT_EQ(unanswered_behind_a_stall(server, kStall), 0);
}

TEST(Sockets, AClientThatTakesNoRepliesForTooLongIs) {
  ServerOptions options;
  options.sockets.idle_time_max = kIdleTimeMax;
  options.sockets.stalled_time_max = std::chrono::milliseconds(300 * kTimes);
  RunningServer server(options);
  EXPECT_GT(unanswered_behind_a_stall(server, kStall), 0);
}

TEST(Sockets, AClientMayVanishAtEveryStage) {
  ServerOptions options;
  options.service.grace = std::chrono::milliseconds(20);
  RunningServer server(options);
  const std::string handshake = RawClient::handshake();
  const std::string upload_name(3000, 'u');
  const auto stage = [&](int number, RawClient& client) {
    if (number == 0) return;
    client.write(handshake.substr(0, number == 1 ? 10 : handshake.size()));
    if (number <= 2) return;
    client = server.connect();
    if (number == 3) return;
    const wire::Message half = wire::encode(
        wire::Request{1, wire::Upload{sha256(bytes_of(upload_name)), upload_name.size(), 0,
                                      upload_name.substr(0, 1000)}});
    const std::string frame = RawClient::frame(RawClient::kBinary, half.bytes);
    client.write(frame.substr(0, number == 4 ? 100 : frame.size()));
    if (number <= 5) return;
    client.send({2, launch_of("stubborn")});
    if (number == 6) return;
    const auto reply = client.reply_to(2);
    const auto& instance = std::get<wire::InstanceReply>(*reply);
    if (number == 7) return;
    if (number == 8) client.send({3, wire::Detach{instance.instance}});
    if (number == 9) client.send({3, wire::Send{instance.instance, "x"}});
    if (number == 10) client.send({3, wire::CloseInput{instance.instance}});
    if (number == 11) client.send({3, launch_of("flood")});
    if (number == 12) client.send({3, wire::Abort{instance.instance}});
    if (number == 13) client.write(RawClient::frame(RawClient::kClose, ""));
    if (number == 14) client.write(RawClient::frame(RawClient::kText, "half", false));
  };
  for (int round = 0; round < 5; ++round) {
    for (int number = 0; number <= 14; ++number) {
      if (number == 8) continue;  // Outlives its client, as it should.
      for (const bool is_reset : {false, true}) {
        RawClient client(server.port());
        stage(number, client);
        if (is_reset) client.reset();
      }
    }
  }
  server.status_when([](const wire::StatusReply& status) {
    return status.instance_count == 0 && status.connection_count == 1;
  });
}

TEST(Sockets, AThousandRoundsOfConnectLaunchAndResetLeaveNothing) {
  ServerOptions options;
  options.service.grace = std::chrono::milliseconds(10);
  RunningServer server(options);
  std::size_t resident = 0;
  for (int round = 0; round < 1000; ++round) {
    RawClient client = server.connect();
    client.send({1, launch_of(round % 2 == 0 ? "stubborn" : "echo")});
    if (round % 3 != 0) {
      EXPECT_TRUE(client.reply_to(1));
    }
    client.reset();
    if (round == 200) resident = resident_bytes();
  }
  const wire::StatusReply status = server.status_when([](const wire::StatusReply& now) {
    return now.instance_count == 0 && now.connection_count == 1 && now.unattached_count == 0;
  });
  EXPECT_GE(status.launched_count, 600u);
  EXPECT_LT(resident_growth(resident), 4u << 20);
}

}  // namespace
}  // namespace quire::server
