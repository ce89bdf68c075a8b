#include "quire/keep_alive.h"

#include <gtest/gtest.h>

#include "fake_host.h"

namespace quire {
namespace {

using std::chrono::seconds;
using test::FakeHost;
using test::host;

constexpr const char* kPing = ": ping\n\n";

class KeepAliveTest : public testing::Test {
 protected:
  void SetUp() override {
    host.reset();
    host.request = FakeHost::HttpServed{};
  }
  void TearDown() override { EXPECT_TRUE(host.live_handles().empty()) << "handles were leaked"; }

  // Runs a handler of the response, which QUIRE_HTTP_MAIN would run.
  template <typename Handler>
  Result<void> run_with(Handler handler) {
    const serve::Request request = serve::Request::open().value();
    return run(handler(request.response()));
  }
};

Task<> think(serve::Response response) {
  serve::LiveEvents events = co_await serve::LiveEvents::open(response);
  co_await sleep(seconds(12));
  co_await events.send("thought");
  co_await sleep(seconds(4));
  co_await events.send("done", {.name = "end"});
  co_await events.finish();
}

TEST_F(KeepAliveTest, EachIntervalWithoutAnEventBringsAPing) {
  ASSERT_TRUE(run_with(think).ok());
  EXPECT_EQ(host.response.body(),
            std::string(kPing) + kPing + "data: thought\n\nevent: end\ndata: done\n\n");
  EXPECT_EQ(host.response.headers, "content-type: text/event-stream\ncache-control: no-store\n");
  EXPECT_TRUE(host.response.is_finished);
  EXPECT_EQ(host.clock_ns, std::chrono::nanoseconds(seconds(16)).count())
      << "the timer does not hold the program";
}

Task<> send_often(serve::Response response) {
  serve::LiveEvents events = co_await serve::LiveEvents::open(response);
  for (int i = 0; i < 5; ++i) {
    co_await sleep(seconds(4));
    co_await events.send("word");
  }
  co_await sleep(seconds(6));
  co_await events.finish();
}

TEST_F(KeepAliveTest, EventsThatComeInTimeLeaveNoPlaceForAPing) {
  ASSERT_TRUE(run_with(send_often).ok());
  ASSERT_EQ(host.response.parts.size(), 6u);
  EXPECT_EQ(host.response.parts.back(), kPing) << "5 s after the last event, and not before";
}

Task<> wait_long(serve::Response response) {
  serve::LiveEvents events = co_await serve::LiveEvents::open(response);
  co_await sleep(seconds(600));
  host.response.has_room = true;
  for (const std::int32_t each : host.made()) {
    if (host.future(each) != nullptr && host.future(each)->ready_at_ns < 0) host.complete(each);
  }
  co_await events.send("answer");
  co_await events.finish();
}

TEST_F(KeepAliveTest, AClientThatReadsNothingHasOnePingInItsQueue) {
  host.response.has_room = false;
  ASSERT_TRUE(run_with(wait_long).ok());
  EXPECT_EQ(host.response.body(), std::string(kPing) + "data: answer\n\n");
}

Task<> begin_late(serve::Response response) {
  serve::LiveEvents events =
      co_await serve::LiveEvents::open(response, {.begin_after = std::chrono::milliseconds(50)});
  EXPECT_FALSE(response.begun());
  co_await sleep(std::chrono::milliseconds(40));
  EXPECT_FALSE(response.begun());
  co_await sleep(std::chrono::milliseconds(20));
  EXPECT_TRUE(response.begun());
  EXPECT_TRUE(response.has_events());
  co_await events.finish();
}

TEST_F(KeepAliveTest, TheHeadGoesOutAtItsTimeWithoutAPart) {
  ASSERT_TRUE(run_with(begin_late).ok());
  EXPECT_EQ(host.response.status, 200u);
  EXPECT_EQ(host.response.body(), "");
}

Task<> send_one(serve::LiveEvents& events, std::string text) {
  co_await events.send(std::move(text));
}
Task<> send_both(serve::Response response) {
  serve::LiveEvents events = co_await serve::LiveEvents::open(response);
  host.response.has_room = false;
  host.on_wait = [] {  // The client takes one part after the other.
    for (const std::int32_t each : host.made()) {
      auto* found = host.future(each);
      if (found == nullptr || found->ready || found->ready_at_ns >= 0) continue;
      EXPECT_EQ(host.live_handles().count("future"), 2u) << "one write at a time, and the timer";
      host.complete(each);
      return true;
    }
    return false;
  };
  co_await gather(send_one(events, "a"), send_one(events, "b"));
  co_await events.finish();
}

TEST_F(KeepAliveTest, TasksThatSendAtOneTimeWaitForEachOther) {
  ASSERT_TRUE(run_with(send_both).ok());
  EXPECT_EQ(host.response.body(), "data: a\n\ndata: b\n\n");
}

Task<> leave(serve::Response response) {
  serve::LiveEvents events = co_await serve::LiveEvents::open(response);
  co_await sleep(seconds(7));
  co_await fail(ErrorCode::NoFreePage, "no free KV page");
}

TEST_F(KeepAliveTest, AnErrorBetweenTwoPingsEndsTheTimer) {
  EXPECT_EQ(run_with(leave).error().code, ErrorCode::NoFreePage);
  EXPECT_EQ(host.response.body(), kPing);
}

Task<> outlive_client(serve::Response response) {
  serve::LiveEvents events =
      co_await serve::LiveEvents::open(response, {}, {}, serve::AfterClient::GoOn);
  co_await sleep(seconds(60));
  const Result<void> sent = co_await attempt(events.send("answer"));
  EXPECT_EQ(sent.error().code, ErrorCode::Unavailable);
}

TEST_F(KeepAliveTest, AfterItsClientHasGoneTheNextEventReportsIt) {
  host.is_client_gone = true;
  EXPECT_TRUE(run_with(outlive_client).ok());
}

Task<> answer_after(serve::Response response, seconds duration) {
  serve::LiveBody body = co_await serve::LiveBody::open(response);
  co_await sleep(duration);
  co_await body.json(R"({"a":1})");
}

TEST_F(KeepAliveTest, AWholeAnswerHasSpacesBeforeItOnlyIfItTakesLong) {
  ASSERT_TRUE(run_with([](auto response) { return answer_after(response, seconds(4)); }).ok());
  EXPECT_EQ(host.response.body(), R"({"a":1})");
  EXPECT_EQ(host.response.headers, "content-type: application/json\ncontent-length: 7\n");
  SetUp();
  ASSERT_TRUE(run_with([](auto response) { return answer_after(response, seconds(16)); }).ok());
  EXPECT_EQ(host.response.body(), R"(  {"a":1})");
  EXPECT_EQ(host.response.headers, "content-type: application/json\n");
  EXPECT_TRUE(host.response.is_finished);
}

Task<> hold(Turn& turn, std::string& order, char name, seconds duration) {
  const Turn::Hold held = co_await turn.take();
  order += name;
  co_await sleep(duration);
}
Task<> take_turns(std::string& order) {
  Turn turn;
  Task<> first = co_await spawn(hold(turn, order, 'a', seconds(2)));
  Task<> second = co_await spawn(hold(turn, order, 'b', seconds(2)));
  Task<> third = co_await spawn(hold(turn, order, 'c', seconds(2)));
  co_await sleep(seconds(1));
  first.drop();   // The second has the turn now, and has not gone on,
  second.drop();  // so that it passes it on.
  co_await std::move(third);
  EXPECT_TRUE(turn.is_free());
}

TEST_F(KeepAliveTest, ATaskThatIsDroppedPassesItsTurnOn) {
  std::string order;
  ASSERT_TRUE(run(take_turns(order)).ok());
  EXPECT_EQ(order, "ac");
}

}  // namespace
}  // namespace quire
