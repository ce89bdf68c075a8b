#include "client/remote_service.h"

#include <gtest/gtest.h>

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "application/server/server_test_support.h"

namespace quire::client::remote_service_test {
namespace {

constexpr std::chrono::milliseconds kPatience{server::kPatienceMs};
constexpr std::chrono::milliseconds kTurn{10};

class Heard final : public service::Listener {
 public:
  bool heard(InstanceId instance, const service::Said& said) override {
    ++offer_count;
    if (!takes) return false;
    if (const auto* message = std::get_if<service::Message>(&said)) {
      all.push_back(std::to_string(static_cast<std::uint64_t>(instance)) + " " +
                    std::string(message->bytes));
    } else if (const auto* ended = std::get_if<service::Ended>(&said)) {
      end = ended->end;
    }
    return true;
  }
  bool takes = true;
  std::uint64_t offer_count = 0;
  std::vector<std::string> all;
  std::optional<service::End> end;
};

class RemoteServices : public testing::Test {
 protected:
  // Turns until the condition holds.
  template <typename Condition>
  void turn_until(Condition condition) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (!condition()) {
      ASSERT_LT(std::chrono::steady_clock::now(), end) << "nothing came";
      const Result<bool> turned = service_.turn(kTurn);
      ASSERT_TRUE(turned.ok()) << turned.error().message();
    }
  }
  InstanceId launch(const std::string& program, Heard& heard) {
    std::optional<service::Reply<InstanceId>> launched;
    service_.launch(server::launch_of(program), heard,
                    [&](service::Reply<InstanceId> reply) { launched = std::move(reply); });
    turn_until([&] { return launched.has_value(); });
    return std::get<InstanceId>(*launched);
  }

  server::RunningServer server_;
  RemoteService service_{
      ServerClient::connect({"127.0.0.1", server_.port()}, kPatience).take(),
      {.shutdown = [](std::uint64_t) {},
       .detached = [this](InstanceId, const std::string& why) { taken_by_ = why; }}};
  std::string taken_by_;
};

TEST_F(RemoteServices, AnInstanceIsFollowedByAttachingAndLostToAClientThatTakesIt) {
  Heard heard;
  std::optional<service::Reply<wire::InstanceReply>> reply;
  const auto keep = [&](service::Reply<wire::InstanceReply> given) { reply = std::move(given); };
  service::Launch launch = server::launch_of("echo");
  launch.arguments = {"x"};
  service_.start(launch, keep);
  turn_until([&] { return reply.has_value(); });
  const std::uint64_t number = std::get<wire::InstanceReply>(*reply).instance;
  reply.reset();
  service_.attach({{}, number, false}, heard, keep);
  turn_until([&] { return reply.has_value(); });
  ASSERT_TRUE(std::holds_alternative<wire::InstanceReply>(*reply));
  service_.send(InstanceId{number}, "to it", [](const auto&) {});
  turn_until([&] { return !heard.all.empty(); });
  server::RawClient other = server_.connect();
  EXPECT_NE(server::as<wire::InstanceReply>(other.ask(wire::Attach{{}, number, true})), nullptr);
  turn_until([&] { return !taken_by_.empty(); });
  EXPECT_EQ(taken_by_, "another client of its tenant has attached to it");
}

TEST_F(RemoteServices, EachInstanceIsHeardByTheListenerOfItsLaunch) {
  Heard one, other;
  const InstanceId first = launch("echo", one);
  const InstanceId second = launch("echo", other);
  service_.send(second, "to the second", [](const auto&) {});
  service_.send(first, "to the first", [](const auto&) {});
  service_.send(first, "quit", [](const auto&) {});
  turn_until([&] { return one.end.has_value() && !other.all.empty(); });
  EXPECT_EQ(one.all, std::vector<std::string>{std::to_string(static_cast<std::uint64_t>(first)) +
                                              " to the first"});
  EXPECT_EQ(other.all, std::vector<std::string>{std::to_string(static_cast<std::uint64_t>(second)) +
                                                " to the second"});
  EXPECT_EQ(one.end->kind, service::EndKind::Finished);
  service_.kill(second, [](const auto&) {});
  turn_until([&] { return other.end.has_value(); });
  EXPECT_EQ(other.end->kind, service::EndKind::Killed);
}

TEST_F(RemoteServices, WhatAListenerRefusesIsOfferedAgainInItsOrder) {
  Heard heard;
  const InstanceId instance = launch("echo", heard);
  heard.takes = false;
  for (const char* each : {"1", "2", "3", "quit"}) {
    service_.send(instance, each, [](const auto&) {});
  }
  turn_until([&] { return heard.offer_count >= 3; });
  EXPECT_TRUE(heard.all.empty());
  heard.takes = true;
  turn_until([&] { return heard.end.has_value(); });
  const std::string number = std::to_string(static_cast<std::uint64_t>(instance));
  EXPECT_EQ(heard.all, (std::vector<std::string>{number + " 1", number + " 2", number + " 3"}));
}

TEST_F(RemoteServices, AnErrorOfTheServerIsTheReply) {
  Heard heard;
  std::optional<service::Reply<InstanceId>> launched;
  service_.launch(server::launch_of("nothing"), heard,
                  [&](service::Reply<InstanceId> reply) { launched = std::move(reply); });
  std::optional<service::Reply<service::Done>> sent;
  service_.send(InstanceId{999}, "hello",
                [&](service::Reply<service::Done> reply) { sent = std::move(reply); });
  turn_until([&] { return launched.has_value() && sent.has_value(); });
  EXPECT_EQ(std::get<service::Failure>(*launched).code, ErrorCode::NotFound);
  EXPECT_EQ(std::get<service::Failure>(*sent).code, ErrorCode::NotFound);
}

TEST_F(RemoteServices, AProgramIsFoundOrBroughtAndWhatCannotBeCompiledIsRefused) {
  const std::string unknown = "this runtime compiles nothing like it";
  for (const std::string& wasm : {std::string("echo"), unknown}) {
    SCOPED_TRACE(wasm);
    const Digest digest = sha256(std::as_bytes(std::span(wasm)));
    std::optional<service::Reply<service::ProgramState>> state;
    service_.find_program({digest, {}}, [&](auto reply) { state = std::move(reply); });
    std::optional<service::Reply<service::Done>> brought;
    service_.upload(digest, wasm, [&](auto reply) { brought = std::move(reply); });
    turn_until([&] { return state.has_value() && brought.has_value(); });
    EXPECT_EQ(std::get<service::ProgramState>(*state),
              wasm == unknown ? service::ProgramState::Unknown : service::ProgramState::Ready);
    EXPECT_EQ(std::holds_alternative<service::Failure>(*brought), wasm == unknown);
  }
}

}  // namespace
}  // namespace quire::client::remote_service_test
