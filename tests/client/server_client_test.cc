#include "client/server_client.h"

#include <gtest/gtest.h>

#include "application/server/server_test_support.h"

namespace quire::client {
namespace {

using server::kPatienceMs;
using server::launch_of;
using server::RawClient;
using server::RunningServer;
using server::ServerOptions;

constexpr std::chrono::milliseconds kPatience{kPatienceMs};

TEST(ServerClient, TalksWithAServer) {
  RunningServer server;
  auto client = ServerClient::connect({"127.0.0.1", server.port()}, kPatience);
  ASSERT_TRUE(client.ok()) << client.error().message();
  const auto reply = client.value()->ask(launch_of("echo"), kPatience);
  ASSERT_TRUE(reply.ok()) << reply.error().message();
  const auto& instance = std::get<wire::InstanceReply>(reply.value());
  const std::uint64_t send = client.value()->send(wire::Send{instance.instance, "hi"});
  std::set<std::size_t> seen;
  while (seen.size() < 2) {
    const auto frame = client.value()->receive(kPatience);
    ASSERT_TRUE(frame.ok() && frame.value());
    seen.insert(frame.value()->index());
    if (const auto* done = std::get_if<wire::Reply>(&*frame.value())) {
      EXPECT_EQ(*done, (wire::Reply{send, wire::Done{}}));
    } else {
      EXPECT_EQ(std::get<wire::MessageEvent>(*frame.value()).bytes, "hi");
    }
  }
  const auto nothing = client.value()->receive(std::chrono::milliseconds(1));
  ASSERT_TRUE(nothing.ok());
  EXPECT_FALSE(nothing.value());
}

// A client of a server that drops clients which are silent for a second, and a program whose output
// never ends.
class FloodedClient {
 public:
  FloodedClient() {
    options_.sockets.idle_time_max = std::chrono::milliseconds(1'000);
    server_.emplace(options_);
    LivenessTimes times;
    times.idle_time_max = options_.sockets.idle_time_max;
    times.stay_period = std::chrono::milliseconds(50);
    auto connected = ServerClient::connect({"127.0.0.1", server_->port()}, kPatience, times);
    EXPECT_TRUE(connected.ok());
    client_ = std::move(connected).take();
    client_->send(launch_of("flood"));
  }

  // Takes frames up to that reply, or to the next message; messages are numbered. Empty, or why
  // there is none.
  std::string receive_until(std::optional<std::uint64_t> reply = std::nullopt) {
    while (true) {
      const auto frame = client_->receive(kPatience);
      if (!frame.ok()) return std::string(frame.error().message());
      if (!frame.value()) return "nothing came";
      if (const auto* message = std::get_if<wire::MessageEvent>(&*frame.value())) {
        EXPECT_EQ(std::stoull(message->bytes), count_++);
        if (!reply) return {};
      }
      const auto* said = std::get_if<wire::Reply>(&*frame.value());
      if (reply && said != nullptr && said->id == *reply) return {};
    }
  }

  // More than the socket held, and then an answer.
  std::string drain() {
    while (count_ < 20'000) {
      if (std::string lost = receive_until(); !lost.empty()) return lost;
    }
    return receive_until(client_->send(wire::Status{}));
  }

 private:
  ServerOptions options_;
  std::optional<RunningServer> server_;
  std::unique_ptr<ServerClient> client_;
  std::uint64_t count_ = 0;  // Of messages.
};

// As one that writes to a pager which is not looked at.
TEST(ServerClient, IsNotTakenForGoneWhileItsCallerIsBusy) {
  FloodedClient client;
  ASSERT_EQ(client.receive_until(), "");
  std::this_thread::sleep_for(std::chrono::milliseconds(2'500));
  EXPECT_EQ(client.drain(), "");
}

// The server's question comes after all its earlier output.
TEST(ServerClient, IsNotTakenForGoneWhileItsCallerReadsSlowly) {
  FloodedClient client;
  for (int i = 0; i < 250; ++i) {
    ASSERT_EQ(client.receive_until(), "");
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(client.drain(), "");
}

TEST(ServerClient, SaysWhyThereIsNoConnection) {
  std::uint16_t port = 0;
  {
    RunningServer server;
    port = server.port();
    const auto refused = ServerClient::connect({"127.0.0.2", port}, kPatience);
    ASSERT_FALSE(refused.ok());
  }
  const auto nobody = ServerClient::connect({"127.0.0.1", port}, kPatience);
  ASSERT_FALSE(nobody.ok());
  EXPECT_EQ(nobody.error().code(), ErrorCode::Unavailable);
  EXPECT_NE(nobody.error().message().find("quire serve"), std::string_view::npos);
  ServerOptions options;
  options.sockets.connection_count_max = 1;
  RunningServer full(options);
  RawClient first = full.connect();
  const auto refused = ServerClient::connect({"127.0.0.1", full.port()}, kPatience);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message().find("connection_count_max"), std::string_view::npos)
      << refused.error().message();
}

TEST(ServerClient, IsToldThatTheServerIsGone) {
  auto server = std::make_unique<RunningServer>();
  auto client = ServerClient::connect({"127.0.0.1", server->port()}, kPatience);
  ASSERT_TRUE(client.ok());
  ASSERT_TRUE(client.value()->ask(wire::Status{}, kPatience).ok());
  std::thread farewell([&] { server.reset(); });
  Result<std::optional<wire::ServerFrame>> frame = client.value()->receive(kPatience);
  while (frame.ok() && frame.value()) frame = client.value()->receive(kPatience);
  farewell.join();
  ASSERT_FALSE(frame.ok());
  EXPECT_EQ(frame.error().code(), ErrorCode::Unavailable);
  EXPECT_NE(frame.error().message().find("shutting down"), std::string_view::npos)
      << frame.error().message();
}

}  // namespace
}  // namespace quire::client
