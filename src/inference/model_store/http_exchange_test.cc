#include "inference/model_store/http_exchange.h"

#include <gtest/gtest.h>

#include "support/http_server.h"

namespace quire::inference::http_exchange_test {
namespace {

HttpHead head_of(std::initializer_list<const char*> lines) {
  HttpHead head;
  for (const char* each : lines) add_head_line(head, each);
  return head;
}

TEST(HttpHead, HasFieldsInAnyCaseAndTheLastOfSeveral) {
  const HttpHead head =
      head_of({"HTTP/1.1 302 Found\r\n", "X-Linked-ETag:  \"abc\" \r\n", "location: /a\r\n",
               "Location: /b\r\n", "no field\r\n", ": none\r\n", "\r\n"});
  EXPECT_EQ(head.status, 302);
  EXPECT_EQ(head.field("x-linked-etag"), "\"abc\"");
  EXPECT_EQ(head.field("location"), "/b");
  EXPECT_EQ(head.field("etag"), "");
  EXPECT_EQ(head.fields.size(), 3u);
}

TEST(HttpHead, OfAnInterimAnswerIsForgotten) {
  const HttpHead head =
      head_of({"HTTP/1.1 103 Early Hints", "Link: </a>", "HTTP/2 200 ", "Content-Length: 3"});
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.field("link"), "");
  EXPECT_EQ(head.field("content-length"), "3");
  EXPECT_EQ(head_of({"HTTP/1.1"}).status, 0);
  EXPECT_EQ(head_of({"HTTP/1.1 abc"}).status, 0);
}

std::string followed(const std::string& from, const std::string& location) {
  const Result<WebUrl> next = WebUrl::parse(from).value().follow(location);
  return next.ok() ? next.value().text() : std::string(next.error().message());
}

class Nothing final : public HttpReceiver {
 public:
  Result<bool> begin(const std::vector<HttpHead>&) override { return true; }
  Result<void> receive(std::span<const std::byte>) override { return {}; }
};

TEST(HttpGet, OfALineThatIsTooLongBlamesTheHeadAndNotTheMemory) {
  const test::HttpServer server([](test::HttpConnection& connection) {
    if (!connection.read_head()) return;
    connection.respond("200 OK", "X-Long: " + std::string(1 << 20, 'a') + "\r\n", "");
  });
  Nothing receiver;
  const Result<void> got = http_get(
      {.url = "http://127.0.0.1:" + std::to_string(server.port()), .is_direct = true}, receiver);
  ASSERT_FALSE(got.ok());
  EXPECT_EQ(got.error().code(), ErrorCode::TooLarge);
  EXPECT_NE(got.error().message().find("the head of the answer is too large"), std::string::npos)
      << got.error().message();
}

TEST(WebUrl, FollowsLocationsOfEveryForm) {
  const std::string from = "https://hub.example/user/repo/resolve/main/a.gguf?download=true";
  EXPECT_EQ(followed(from, "/api/resolve-cache/a.gguf?x=1"),
            "https://hub.example/api/resolve-cache/a.gguf?x=1");
  EXPECT_EQ(followed(from, "b.gguf"), "https://hub.example/user/repo/resolve/main/b.gguf");
  EXPECT_EQ(followed(from, "../b.gguf"), "https://hub.example/user/repo/resolve/b.gguf");
  EXPECT_EQ(followed(from, "//cdn.example/c"), "https://cdn.example/c");
  EXPECT_EQ(followed(from, "https://cdn.example:8443/c?Signature=a~b_"),
            "https://cdn.example:8443/c?Signature=a~b_");
  EXPECT_EQ(followed(from, "https://cdn.example/a b"), "https://cdn.example/a%20b");
  EXPECT_EQ(followed("http://127.0.0.1:1/a", "https://cdn.example/c"), "https://cdn.example/c");
}

TEST(WebUrl, DoesNotFollowToWhereBytesCouldBeChangedOrRead) {
  const std::string from = "https://hub.example/a";
  for (const char* location :
       {"http://hub.example/a", "file:///etc/passwd", "ftp://cdn.example/a", "gopher://x/"}) {
    EXPECT_FALSE(WebUrl::parse(from).value().follow(location).ok()) << location;
  }
  for (const char* text :
       {"", "hub", "file:///etc/passwd", "http://", "https:// a", "http://[::1"}) {
    EXPECT_FALSE(WebUrl::parse(text).ok()) << text;
  }
}

bool have_one_origin(const char* one, const char* other) {
  return WebUrl::parse(one).value().has_origin_of(WebUrl::parse(other).value());
}

TEST(WebUrl, TellsOriginsApartByPortAndScheme) {
  EXPECT_TRUE(have_one_origin("https://Hub.example/a", "https://hub.example:443/b?c"));
  EXPECT_FALSE(have_one_origin("http://127.0.0.1:8000/", "http://127.0.0.1:8001/"));
  EXPECT_FALSE(have_one_origin("http://hub.example/", "https://hub.example/"));
  EXPECT_FALSE(have_one_origin("https://hub.example/", "https://hub.example.org/"));
  EXPECT_FALSE(have_one_origin("https://hub.example/", "https://cdn.hub.example/"));
}

TEST(WebUrl, KnowsThisMachine) {
  for (const char* text : {"http://127.0.0.1:1/", "http://localhost/", "http://[::1]:8/",
                           "http://127.1/", "http://LOCALHOST:9"}) {
    EXPECT_TRUE(WebUrl::parse(text).value().is_loopback()) << text;
  }
  for (const char* text :
       {"http://127.0.0.1.example/", "http://128.0.0.1/", "http://localhost.example/"}) {
    EXPECT_FALSE(WebUrl::parse(text).value().is_loopback()) << text;
  }
}

TEST(WebUrl, IsShownWithoutItsSignature) {
  const WebUrl url = WebUrl::parse("https://cdn.example/a%20b?X-Amz-Signature=secret#x").value();
  EXPECT_EQ(url.shown(), "https://cdn.example/a%20b");
  EXPECT_TRUE(url.has_query());
  EXPECT_TRUE(WebUrl::parse("http://user:pass@hub.example/").value().has_user());
}

TEST(WebUrl, SegmentsAreEncodedAndDecoded) {
  EXPECT_EQ(url_segment("a b/c%?\xc3\xa9~"), "a%20b%2Fc%25%3F%C3%A9~");
  EXPECT_EQ(url_decoded("a%20b%2Fc%25%3F%C3%A9~%zz%4"), "a b/c%?\xc3\xa9~%zz%4");
}

}  // namespace
}  // namespace quire::inference::http_exchange_test
