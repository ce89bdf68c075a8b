#include "quire/serve.h"

#include <gtest/gtest.h>

#include "fake_host.h"

extern "C" std::int32_t run_complete_http();

namespace quire {
namespace {

using test::FakeHost;
using test::host;

Task<> greet(serve::Request request, serve::Response response) {
  const Json body = co_await request.json();
  if (body.text("name").empty()) co_await request.refuse(422, "\"name\" is missing");
  JsonWriter answer;
  answer.begin_object().key("text").text("hello, " + std::string(body.text("name"))).end_object();
  co_await response.json(200, answer);
}

Task<> count(serve::Request, serve::Response response) {
  response.add_header({"x-two", "2"});
  const serve::EventStream events = co_await response.events({{"x-one", "1"}});
  co_await events.send("one\ntwo", {.name = "numbers", .id = "7"});
  co_await events.comment("still here");
  co_await events.send("");
}

struct Greeting {
  std::string word = "hello";
  void read(OptionReader& in) { in.text("word", word, "What to say"); }
};
Task<> say(serve::Request, serve::Response response, Greeting greeting) {
  co_await response.send(200, greeting.word);
}

Task<> refuse_with(serve::Request request, serve::Response) {
  const std::string status = co_await request.body();
  co_await request.refuse(static_cast<std::uint32_t>(std::stoul(status)), "no");
}
Task<> fail_before(serve::Request, serve::Response) {
  co_await fail(ErrorCode::NoFreePage, "no free KV page");
}
Task<> fail_after(serve::Request, serve::Response response) {
  co_await response.begin(200);
  co_await response.write("half");
  co_await fail(ErrorCode::Internal, "lost");
}
Task<> say_nothing(serve::Request, serve::Response) {
  co_return;
}
Task<> handle_own_errors(serve::Request request, serve::Response response) {
  const Result<Json> body = co_await attempt(request.json());
  if (!body.ok()) co_await response.json(400, R"({"mine":true})");
}
Task<> take_little(serve::Request request, serve::Response response) {
  co_await response.send(200, co_await request.body(4));
}
Task<> go_on(serve::Request, serve::Response response) {
  co_await response.begin(200, {}, serve::AfterClient::GoOn);
  const Result<void> written = co_await attempt(response.write("part"));
  EXPECT_EQ(written.error().code, ErrorCode::Unavailable);
  co_await runtime::set_result("done");
}

// Sends the client's text back, in a header of the response.
Task<> send_back(serve::Request request, serve::Response response) {
  co_await response.send(200, "hello", {{"x-user", co_await request.body()}});
}
Task<> add_back(serve::Request request, serve::Response response) {
  response.add_header({"x-user", co_await request.body()});
  response.add_header({"x-right", "1"});
  co_await response.send(200, "hello");
}

class ServeTest : public testing::Test {
 protected:
  void SetUp() override { host.reset(); }
  void TearDown() override { EXPECT_TRUE(host.live_handles().empty()) << "handles were leaked"; }

  template <typename Handler>
  std::int32_t run_with(Handler* handler, FakeHost::HttpServed request) {
    host.request = std::move(request);
    return serve::detail::run_handler(handler);
  }
};

TEST_F(ServeTest, AHandlerTakesJsonInPartsAndAnswersJson) {
  EXPECT_EQ(run_with(greet, {.parts = {"{\"name\":", "\"Ada\"}"}}), 0);
  EXPECT_EQ(host.response.status, 200u);
  EXPECT_EQ(host.response.headers, "content-type: application/json\ncontent-length: 21\n");
  EXPECT_EQ(host.response.body(), R"({"text":"hello, Ada"})");
  EXPECT_TRUE(host.response.is_finished);
}

TEST_F(ServeTest, WhatIsNoJsonIsRefusedWithItsPlace) {
  EXPECT_EQ(run_with(greet, {.parts = {"{\"name\""}}), 0);
  EXPECT_EQ(host.response.status, 400u);
  EXPECT_EQ(
      host.response.body(),
      R"({"error":{"code":"invalid-argument","message":"the body: JSON: ':' expected at line )"
      R"(1, byte 8","request_id":"r1"}})"
      "\n");
  EXPECT_TRUE(host.logged.empty()) << "a refusal is no failure of the program";
}

TEST_F(ServeTest, ARefusalEndsTheHandlerWithItsStatus) {
  EXPECT_EQ(run_with(greet, {.parts = {"{}"}}), 0);
  EXPECT_EQ(host.response.status, 422u);
}

TEST_F(ServeTest, EventsAreLinesAndComeInTheirOrder) {
  EXPECT_EQ(run_with(count, {}), 0);
  EXPECT_EQ(host.response.status, 200u);
  EXPECT_EQ(host.response.headers,
            "x-one: 1\ncontent-type: text/event-stream\ncache-control: no-store\nx-two: 2\n");
  EXPECT_EQ(host.response.body(),
            "event: numbers\nid: 7\ndata: one\ndata: two\n\n: still here\n\ndata: \n\n");
  EXPECT_TRUE(host.response.is_finished) << "a handler that returns has finished";
}

TEST_F(ServeTest, AValueWithALineEndIsAnErrorAndNoFurtherHeader) {
  for (auto* handler : {send_back, add_back}) {
    host.reset();
    EXPECT_EQ(run_with(handler, {.parts = {"alice\nset-cookie: session=attacker"}}),
              static_cast<int>(ErrorCode::InvalidArgument));
    EXPECT_EQ(host.response.status, 0u);
    EXPECT_NE(host.logged.at(0).find("x-user"), std::string::npos) << host.logged.at(0);
    host.reset();
    EXPECT_EQ(run_with(handler, {.parts = {"alice"}}), 0);
    EXPECT_NE(host.response.headers.find("x-user: alice\n"), std::string::npos);
  }
}

TEST_F(ServeTest, AnErrorThatTheProgramDidNotExpectIsForTheLogAndTheServerResponds) {
  EXPECT_EQ(run_with(fail_before, {}), static_cast<int>(ErrorCode::NoFreePage));
  EXPECT_EQ(host.response.status, 0u);
  EXPECT_EQ(host.logged.size(), 1u);
}

TEST_F(ServeTest, TheCodeOfARefusalGoesWithItsStatus) {
  for (const auto& [status, code] :
       {std::pair(400u, "invalid-argument"), std::pair(403u, "permission-denied"),
        std::pair(404u, "not-found"), std::pair(409u, "already-exists"),
        std::pair(413u, "too-large"), std::pair(422u, "invalid-argument"),
        std::pair(429u, "quota-exceeded"), std::pair(500u, "internal"),
        std::pair(503u, "unavailable"), std::pair(504u, "timeout")}) {
    host.reset();
    EXPECT_EQ(run_with(refuse_with, {.parts = {std::to_string(status)}}), 0);
    EXPECT_EQ(host.response.status, status);
    EXPECT_NE(host.response.body().find("\"code\":\"" + std::string(code) + "\""),
              std::string::npos)
        << host.response.body();
  }
}

TEST_F(ServeTest, AnErrorWithinTheResponseLeavesItUnfinished) {
  EXPECT_EQ(run_with(fail_after, {}), static_cast<int>(ErrorCode::Internal));
  EXPECT_EQ(host.response.body(), "half");
  EXPECT_FALSE(host.response.is_finished);
}

TEST_F(ServeTest, AHandlerWithoutAResponseLeavesItToTheServer) {
  EXPECT_EQ(run_with(say_nothing, {}), 0);
  EXPECT_EQ(host.response.status, 0u);
}

TEST_F(ServeTest, AHandlerMayHaveAFormOfErrorsOfItsOwn) {
  EXPECT_EQ(run_with(handle_own_errors, {.parts = {"}"}}), 0);
  EXPECT_EQ(host.response.status, 400u);
  EXPECT_EQ(host.response.body(), R"({"mine":true})");
}

TEST_F(ServeTest, ABodyBeyondWhatTheHandlerTakesIsRefused) {
  EXPECT_EQ(run_with(take_little, {.parts = {"abc", "de"}}), 0);
  EXPECT_EQ(host.response.status, 413u);
  host.reset();
  EXPECT_EQ(run_with(take_little, {.parts = {"abc", "d"}}), 0);
  EXPECT_EQ(host.response.body(), "abcd");
}

TEST_F(ServeTest, AHandlerMayGoOnWithoutItsClient) {
  host.is_client_gone = true;
  EXPECT_EQ(run_with(go_on, {}), static_cast<int>(ErrorCode::Ok));
  EXPECT_EQ(host.response.flags, 1u);
  EXPECT_EQ(host.result, "done");
}

TEST_F(ServeTest, OptionsOfTheEndpointReachTheHandler) {
  host.arguments = {"--word", "good day"};
  EXPECT_EQ(run_with(say, {.method = "GET"}), 0);
  EXPECT_EQ(host.response.body(), "good day");
  EXPECT_EQ(host.response.headers, "content-type: text/plain; charset=utf-8\ncontent-length: 8\n");
  host.arguments = {"--wrod", "x"};
  EXPECT_EQ(run_with(say, {}), static_cast<int>(ErrorCode::InvalidArgument));
  EXPECT_NE(std::string(serve::detail::schema_of(say)).find("word"), std::string::npos);
}

// Each token is followed by the next letter of the alphabet.
void continue_the_alphabet() {
  host.next = [](const std::vector<std::uint32_t>& tokens) {
    const std::uint32_t last = tokens.empty() ? 'a' : tokens.back();
    return std::vector<std::pair<std::uint32_t, float>>{{last + 1, 1.0f}};
  };
}

TEST_F(ServeTest, CompleteHttpGivesJsonOrEvents) {
  continue_the_alphabet();
  host.request = FakeHost::HttpServed{.parts = {R"({"prompt":"ab","max_tokens":3})"}};
  EXPECT_EQ(run_complete_http(), 0);
  EXPECT_EQ(host.response.body(),
            R"({"text":"cde","finish_reason":"length","completion_tokens":3})");
  host.reset();
  continue_the_alphabet();
  host.request = FakeHost::HttpServed{.parts = {R"({"prompt":"ab","max_tokens":2,"stream":true})"}};
  EXPECT_EQ(run_complete_http(), 0);
  const std::string body = host.response.body();
  EXPECT_TRUE(body.starts_with("data: {\"text\":\"c")) << body;
  EXPECT_TRUE(body.ends_with("\n\ndata: [DONE]\n\n")) << body;
  for (const char* wrong : {"{}", R"({"prompt":"a","max_tokens":0})",
                            R"({"prompt":"a","temperature":-1})", R"({"prompt":"a","seed":-1})"}) {
    host.reset();
    host.request = FakeHost::HttpServed{.parts = {wrong}};
    EXPECT_EQ(run_complete_http(), 0);
    EXPECT_EQ(host.response.status, 400u) << wrong;
  }
}

TEST_F(ServeTest, WithoutARequestTheProgramSaysSo) {
  EXPECT_EQ(serve::detail::run_handler(greet), static_cast<int>(ErrorCode::NotSupported));
  EXPECT_EQ(host.logged.size(), 1u);
  EXPECT_EQ(serve::Request::open().error().code, ErrorCode::NotSupported);
}

TEST_F(ServeTest, ARequestHasItsPartsAndAHeadOfAnyLength) {
  host.request = FakeHost::HttpServed{.method = "GET",
                                      .target = "/a/b?x=1+%41&y&x=2&z=%zz%4",
                                      .headers = "host: h\nx-request-id: r9\nempty: \n"};
  const serve::Request request = serve::Request::open().value();
  EXPECT_EQ(request.method(), "GET");
  EXPECT_EQ(request.path(), "/a/b");
  EXPECT_EQ(request.query(), "x=1+%41&y&x=2&z=%zz%4");
  EXPECT_EQ(request.query_value("x"), "1 A");
  EXPECT_EQ(request.query_value("y"), "");
  EXPECT_EQ(request.query_value("z"), "%zz%4");
  EXPECT_EQ(request.query_value("w"), std::nullopt);
  const std::vector<std::pair<std::string, std::string>> parameters = {
      {"x", "1 A"}, {"y", ""}, {"x", "2"}, {"z", "%zz%4"}};
  EXPECT_EQ(request.query_parameters(), parameters);
  EXPECT_EQ(serve::detail::decode_path("a%2Fb+c%4"), "a/b+c%4");
  EXPECT_EQ(serve::detail::decode_query("a%2Fb+c%2B"), "a/b c+");
  EXPECT_EQ(request.path_after("/a/"), "b");
  EXPECT_EQ(request.path_after("/x/"), "");
  EXPECT_EQ(request.header("host"), "h");
  EXPECT_EQ(request.header("empty"), "");
  EXPECT_EQ(request.header("absent"), std::nullopt);
  EXPECT_EQ(request.id(), "r9");
  host.request->target = "/" + std::string(10'000, 'a');
  EXPECT_EQ(serve::Request::open().value().path().size(), 10'001u);
  EXPECT_EQ(serve::Request::open().value().query(), "");
}

TEST_F(ServeTest, WhatIsNoHeadIsAnError) {
  for (const std::string& bytes : {std::string(11, '\0'), std::string(13, '\0'),
                                   std::string("\0\0\0\0\0\0\0\0\1\0\0\0x", 13)}) {
    EXPECT_EQ(serve::detail::decode_request(bytes).error().code, ErrorCode::Internal);
  }
}

}  // namespace
}  // namespace quire
