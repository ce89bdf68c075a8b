#include "quire/http.h"

#include <gtest/gtest.h>

#include "fake_host.h"
#include "quire/main.h"

extern "C" std::int32_t run_fetch();

namespace quire {
namespace {

using test::FakeHost;
using test::host;
using namespace std::chrono_literals;

class HttpTest : public testing::Test {
 protected:
  void SetUp() override {
    host.reset();
    host.serve = [](const FakeHost::HttpAsked& asked) {
      return FakeHost::HttpAnswer{
          .status = asked.url.ends_with("/none") ? 404u : 200u,
          .headers = "content-type: text/plain\nx-empty: \nx-colons: a: b: c\n",
          .pieces = {asked.method, " " + asked.url + " ", asked.headers + asked.body}};
    };
  }
  void TearDown() override { EXPECT_TRUE(host.live_handles().empty()) << "handles were leaked"; }
};

TEST_F(HttpTest, AResponseIsStatusHeadersAndBody) {
  const http::Response got =
      run(task_of(http::get("http://a/", {{"accept", "x"}, {"b", ""}}))).value();
  EXPECT_EQ(got.status, 200u);
  EXPECT_TRUE(got.ok());
  EXPECT_EQ(got.body, "GET http://a/ accept: x\nb: \n");
  EXPECT_EQ(got.header("x-colons"), "a: b: c");
  EXPECT_EQ(got.header("x-empty"), "");
  EXPECT_EQ(got.header("absent"), std::nullopt);
  const http::Response posted = run(task_of(http::post("http://a/none", "text"))).value();
  EXPECT_FALSE(posted.ok());
  EXPECT_EQ(posted.body, "POST http://a/none text");
}

// Else what a program takes for a value could add a header, such as an authorization.
TEST_F(HttpTest, AHeaderThatWouldBeTwoOrNoneIsRefusedBeforeItIsSent) {
  const http::Headers wrong[] = {{{"x", "a\nauthorization: Bearer injected"}},
                                 {{"x", "a\r\nb: c"}},
                                 {{"x", "a\r"}},
                                 {{"x", std::string("a\0", 2)}},
                                 {{"x", "\x7f"}},
                                 {{"x\nb", "a"}},
                                 {{"x: a\nb", "c"}},
                                 {{"", "a"}},
                                 {{"x y", "a"}},
                                 {{"ok", "a"}, {"x:", "a"}}};
  for (const http::Headers& each : wrong) {
    EXPECT_EQ(run(task_of(http::get("http://a/", each))).error().code, ErrorCode::InvalidArgument);
    EXPECT_EQ(run(task_of(http::post("http://a/", "", each))).error().code,
              ErrorCode::InvalidArgument);
    EXPECT_EQ(http::Exchange::open({.url = "http://a/", .headers = each}).error().code,
              ErrorCode::InvalidArgument);
  }
  const std::string said =
      run(task_of(http::get("http://a/", {{"ok", "a"}, {"x y", ""}}))).error().message;
  EXPECT_TRUE(said.starts_with("header 2 of 2: ")) << said;
  const http::Headers right = {{"X-User_1", "tab\t and \xc3\xa9: fine"}};
  EXPECT_EQ(run(task_of(http::get("http://a/", right))).value().body,
            "GET http://a/ X-User_1: tab\t and \xc3\xa9: fine\n");
}

TEST(Url, HasNothingInATextThatItWouldMeanOtherwise) {
  EXPECT_EQ(http::encode_url("a-b._~Z9"), "a-b._~Z9");
  EXPECT_EQ(http::encode_url("a b&c=d/%?#+\xc3\xa9"), "a%20b%26c%3Dd%2F%25%3F%23%2B%C3%A9");
  EXPECT_EQ(http::encode_url(std::string("\0", 1)), "%00");
  EXPECT_EQ(http::encode_url(""), "");
}

TEST_F(HttpTest, WithoutAGrantTheCallSaysSo) {
  host.serve = nullptr;
  EXPECT_EQ(run(task_of(http::get("http://a/"))).error().code, ErrorCode::PermissionDenied);
  EXPECT_EQ(http::Exchange::open({.url = "http://a/"}).error().code, ErrorCode::PermissionDenied);
}

TEST_F(HttpTest, AnExchangeWritesAndReadsInPieces) {
  const auto exchange = []() -> Task<std::string> {
    http::Exchange upload = co_await http::Exchange::open(
        {.method = "PUT", .url = "http://a/", .body_bytes = http::kUnknownBodyBytes});
    const Result<http::Head> early = co_await attempt(with_timeout(upload.head(), 5ms));
    EXPECT_EQ(early.error().code, ErrorCode::Timeout);
    co_await upload.write("one, ");
    co_await upload.write("two");
    co_await upload.finish();
    EXPECT_EQ(upload.finish().error().code, ErrorCode::OutOfRange);
    EXPECT_EQ((co_await upload.head()).status, 200u);
    EXPECT_EQ(co_await upload.read(), "PUT");
    co_return co_await http::read_all(upload, 100);
  };
  EXPECT_EQ(run(exchange()).value(), " http://a/ one, two");
}

TEST_F(HttpTest, ReadAllTakesNoMoreThanItMay) {
  http::Exchange exchange = http::Exchange::open({.url = "http://a/"}).take();
  EXPECT_EQ(run(http::read_all(exchange, 5)).error().code, ErrorCode::TooLarge);
}

TEST_F(HttpTest, WhatIsNoHeadIsAnError) {
  for (const std::string& bytes :
       {std::string(7, '\0'), std::string("\0\0\0\0\1\0\0\0", 8),
        std::string("\0\0\0\0\2\0\0\0xx", 10), std::string("\0\0\0\0\1\0\0\0\n", 9)}) {
    EXPECT_EQ(run(task_of(Future<http::Head>(host.ready_future(bytes)))).error().code,
              ErrorCode::Internal);
  }
}

TEST_F(HttpTest, FetchSaysWhatCame) {
  host.arguments = {"http://a/"};
  EXPECT_EQ(run_fetch(), 0);
  EXPECT_EQ(host.sent, std::vector<std::string>{"status 200, 14 bytes of text/plain\n"});
  host.sent.clear();
  host.arguments = {"--post", "text", "--header", "x: y", "--show", "http://a/none"};
  EXPECT_EQ(run_fetch(), 0);
  EXPECT_EQ(host.sent, (std::vector<std::string>{"POST http://a/none x: y\ntext\n",
                                                 "status 404, 28 bytes of text/plain\n"}));
  host.sent.clear();
  host.arguments = {"--stream", "http://a/"};
  EXPECT_EQ(run_fetch(), 0);
  EXPECT_EQ(host.sent.back(), "\nstatus 200, 14 bytes of text/plain in 2 pieces\n");
  for (const std::vector<std::string>& wrong :
       {std::vector<std::string>{}, {"http://a/", "http://b/"}, {"--header", "x", "http://a/"}}) {
    host.arguments = wrong;
    EXPECT_EQ(run_fetch(), static_cast<int>(ErrorCode::InvalidArgument));
  }
}

}  // namespace
}  // namespace quire
