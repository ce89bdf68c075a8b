#include "application/server/server_client.h"

#include <gtest/gtest.h>

#include "application/server/server_test_support.h"

namespace quire::server {
namespace {

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

// As one that writes to a pager which is not looked at.
TEST(ServerClient, IsNotTakenForGoneWhileItsCallerIsBusy) {
  ServerOptions options;
  options.sockets.idle_time_max = std::chrono::milliseconds(1'000);
  RunningServer server(options);
  LivenessTimes times;
  times.idle_time_max = options.sockets.idle_time_max;
  times.stay_period = std::chrono::milliseconds(50);
  auto client = ServerClient::connect({"127.0.0.1", server.port()}, kPatience, times);
  ASSERT_TRUE(client.ok()) << client.error().message();
  client.value()->send(launch_of("flood"));
  const auto receive_until = [&](auto is_wanted) {
    while (true) {
      const auto frame = client.value()->receive(kPatience);
      if (!frame.ok()) return std::string(frame.error().message());
      if (!frame.value()) return std::string("nothing came");
      if (is_wanted(*frame.value())) return std::string();
    }
  };
  std::uint64_t count = 0;  // Of messages, which are numbered.
  const auto is_message = [&](const wire::ServerFrame& frame) {
    const auto* message = std::get_if<wire::MessageEvent>(&frame);
    if (message != nullptr) {
      EXPECT_EQ(std::stoull(message->bytes), count++);
    }
    return message != nullptr;
  };
  ASSERT_EQ(receive_until(is_message), "");
  std::this_thread::sleep_for(std::chrono::milliseconds(2'500));
  // More than the socket held.
  while (count < 20'000) ASSERT_EQ(receive_until(is_message), "");
  const std::uint64_t id = client.value()->send(wire::Status{});
  EXPECT_EQ(receive_until([&](const wire::ServerFrame& frame) {
              const auto* reply = std::get_if<wire::Reply>(&frame);
              return reply != nullptr && reply->id == id;
            }),
            "");
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
}  // namespace quire::server
