// Requests whose bodies have a content coding, over real sockets on loopback.
#include <gtest/gtest.h>
#include <zstd.h>

#include "application/server/server_test_support.h"
#include "base/random.h"
#include "support/deflated.h"

namespace quire::server {
namespace body_coding_test {
namespace {

// Responds with the lines of its request, a blank one and the body; with "deaf" as its argument, with nothing, before
// it reads.
class BodyGuest final : public TalkingGuest {
 public:
  FakeAction step(FakeHost& host) override {
    if (future_ == 0) {
      const std::int64_t bytes = host.call("serve", "request-head", {kGuestBuffer, 32768}).value;
      text_ = host.get(kGuestBuffer + 12, static_cast<std::uint32_t>(bytes) - 12) + "\n";
      const bool is_deaf = host.call("runtime", "get-arg", {0, kGuestBuffer, 64}).value > 0;
      if (is_deaf) text_.clear();
      return is_deaf ? respond(host) : read(host);
    }
    const std::optional<std::string> part = take(host, future_);
    if (!part) return {FakeAction::Kind::Finish, 3, ""};
    if (has_begun_) return write(host);
    if (part->empty()) return respond(host);
    text_ += *part;
    return read(host);
  }

 private:
  FakeAction read(FakeHost& host) {
    future_ = host.call("serve", "read-request", {}).value;
    return wait_for(host, future_);
  }
  FakeAction respond(FakeHost& host) {
    const std::string length = "content-length: " + std::to_string(text_.size()) + "\n";
    host.call("serve", "respond",
              {200, host.put(kGuestBuffer, length), static_cast<std::int64_t>(length.size()), 0});
    has_begun_ = true;
    return write(host);
  }
  FakeAction write(FakeHost& host) {
    const std::string part = text_.substr(written_bytes_, 30'000);
    if (part.empty()) {
      host.call("serve", "finish-response", {});
      return {};
    }
    written_bytes_ += part.size();
    future_ = host.call("serve", "write-response",
                        {host.put(kGuestBuffer, part), static_cast<std::int64_t>(part.size())})
                  .value;
    return wait_for(host, future_);
  }

  std::int64_t future_ = 0;
  std::string text_;
  std::size_t written_bytes_ = 0;
  bool has_begun_ = false;
};

std::string gzip(std::string_view text) {
  return deflated(text, 15 + 16, 9);
}

std::string zlib(std::string_view text) {
  return deflated(text, 15, 6);
}

std::string zstd(std::string_view text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
  return out;
}

const std::string kClose = "Connection: close\r\n";
const std::string kGzip = "Content-Encoding: gzip\r\n";

std::string head(const std::string& target, const std::string& more) {
  return "POST " + target + " HTTP/1.1\r\nHost: localhost\r\n" + more;
}
std::string post(const std::string& target, const std::string& body, const std::string& more) {
  return head(target, more) + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}
std::string chunked(const std::string& target, const std::string& body, const std::string& more,
                    std::size_t chunk_bytes) {
  std::string text = head(target, more) + "Transfer-Encoding: chunked\r\n\r\n";
  for (std::size_t at = 0; at < body.size(); at += chunk_bytes) {
    const std::string chunk = body.substr(at, chunk_bytes);
    char size[17];
    std::snprintf(size, sizeof size, "%zx", chunk.size());
    text += size + ("\r\n" + chunk) + "\r\n";
  }
  return text + "0\r\n\r\n";
}

std::size_t count_of(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

class BodyCoding : public testing::Test {
 protected:
  static ServerOptions options_with_endpoints() {
    ServerOptions options;
    std::vector<EndpointRule> rules;
    for (const char* each :
         {"POST /decoded=body", "POST /v1/chat/completions=body", "POST /v1/messages=body",
          "POST /deaf=body deaf", "GET /decoded=body"}) {
      rules.push_back(parse_endpoint_rule(each).take());
      rules.back().decodes_bodies = true;
    }
    rules.push_back(parse_endpoint_rule("POST /sent=body").take());
    options.endpoints = EndpointTable::create(std::move(rules)).take();
    options.allowed_origins = {"https://page.example"};
    return options;
  }
  void serve(const ServerOptions& options = options_with_endpoints()) {
    server.emplace(options, kPlaces, [](ServedEngine& served) {
      served.runtime.add_program("body", [] { return std::make_unique<BodyGuest>(); });
      served.names.emplace_back("body");
    });
  }
  std::string ask(const std::string& request) { return RawClient(server->port()).http(request); }
  // A problem of the body: one response, although another request follows, and then the end of the connection.
  void expect_refused(const std::string& request, const std::string& status,
                      const std::string& text) {
    const std::string answer = ask(request + post("/decoded", "next", kClose));
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 " + status + " ")) << answer;
    EXPECT_NE(answer.find(text), std::string::npos) << answer;
    EXPECT_EQ(count_of(answer, "HTTP/1.1 "), 1u) << answer;
    EXPECT_EQ(count_of(answer, "next"), 0u) << answer;
    server->status_when([](const wire::StatusReply& now) {
      return now.instance_count == 0 && now.connection_count == 1;
    });
  }

  std::optional<RunningServer> server;
};

TEST_F(BodyCoding, TheProgramGetsTheBodyAndAHeadThatSaysNothingOfTheCoding) {
  serve();
  const std::string text = "{\"model\": \"a\"}";
  for (const auto& [name, body] : {std::pair<std::string, std::string>{"gzip", gzip(text)},
                                   {"X-GZip", gzip(text)},
                                   {"deflate", zlib(text)},
                                   {"zstd", zstd(text)},
                                   {"identity, zstd", zstd(text)}}) {
    const std::string coding = "Content-Encoding: " + name + "\r\nA: b\r\n";
    const std::string answer = ask(post("/decoded", body, kClose + coding));
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\n")) << answer;
    EXPECT_TRUE(answer.ends_with("\n\n" + text)) << answer;
    const std::string lines = answer.substr(answer.find("\r\n\r\n"));
    EXPECT_NE(lines.find("a: b\n"), std::string::npos) << lines;
    EXPECT_EQ(lines.find("content-encoding"), std::string::npos) << lines;
    EXPECT_EQ(lines.find("content-length"), std::string::npos) << lines;
  }
  const std::string plain = ask(post("/decoded", text, kClose + "Content-Encoding: identity\r\n"));
  EXPECT_TRUE(plain.ends_with("\n\n" + text)) << plain;
  EXPECT_NE(plain.find("content-length: 14\n"), std::string::npos) << plain;
}

TEST_F(BodyCoding, OtherProgramsGetTheBytesAsTheyWereSent) {
  serve();
  for (const std::string& coding :
       {std::string("gzip"), std::string("br"), std::string("gzip, br")}) {
    const std::string body = gzip("text");
    const std::string answer =
        ask(post("/sent", body, kClose + "Content-Encoding: " + coding + "\r\n"));
    EXPECT_TRUE(answer.ends_with("\n\n" + body)) << answer;
    EXPECT_NE(answer.find("content-encoding: " + coding + "\n"), std::string::npos) << answer;
    EXPECT_NE(answer.find("content-length: " + std::to_string(body.size()) + "\n"),
              std::string::npos)
        << answer;
  }
}

TEST_F(BodyCoding, AConnectionCarriesTheNextRequestAfterADecodedBody) {
  serve();
  const std::string answers =
      ask(post("/decoded", gzip("one"), kGzip) + post("/sent", "two", "") +
          chunked("/decoded", gzip("three"), kGzip, 7) + post("/decoded", "", kGzip) +
          "GET /decoded HTTP/1.1\r\nHost: localhost\r\nContent-Encoding: br\r\n\r\n" +
          post("/decoded", "four", kClose));
  EXPECT_EQ(count_of(answers, "HTTP/1.1 200 OK\r\n"), 6u) << answers;
  for (const char* each : {"one", "two", "three", "four"}) {
    EXPECT_EQ(count_of(answers, each), 1u) << each << answers;
  }
}

TEST_F(BodyCoding, ABodyMayComeInChunksAndInAnyPieces) {
  serve();
  const std::string request = chunked("/decoded", gzip("hello, world"), kGzip + kClose, 5);
  for (const std::size_t bytes : {request.size(), std::size_t{1}, std::size_t{7}}) {
    RawClient client(server->port());
    for (std::size_t at = 0; at < request.size(); at += bytes) {
      client.write(std::string_view(request).substr(at, bytes));
    }
    const std::string answer = client.http("");
    EXPECT_TRUE(answer.ends_with("\n\nhello, world")) << answer;
  }
}

TEST_F(BodyCoding, AClientThatAwaitsContinueIsAskedForABodyThatCanBeDecoded) {
  serve();
  const std::string expects = "Expect: 100-continue\r\n" + kClose;
  const std::string body = gzip("hello");
  RawClient client(server->port());
  client.write(head("/decoded", expects + kGzip) +
               "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n");
  ASSERT_TRUE(client.read_until("HTTP/1.1 100 Continue\r\n\r\n"));
  EXPECT_TRUE(client.http(body).ends_with("\n\nhello"));
  const std::string answer =
      ask(head("/decoded", expects + "Content-Encoding: br\r\n") + "Content-Length: 5\r\n\r\n");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 415 ")) << answer;
}

TEST_F(BodyCoding, ALargeBodyComesInPartsAsTheProgramReads) {
  serve();
  SeededRandom random(1);
  std::string text;
  while (text.size() < 3'000'000) text += std::to_string(random.next() % 100'000) + " ";
  for (const auto& [name, body] :
       {std::pair<std::string, std::string>{"gzip", gzip(text)}, {"zstd", zstd(text)}}) {
    const std::string answer =
        ask(post("/decoded", body, kClose + "Content-Encoding: " + name + "\r\n"));
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 ")) << answer.substr(0, 500);
    EXPECT_TRUE(answer.ends_with("\n\n" + text)) << answer.size();
  }
}

TEST_F(BodyCoding, AnotherCodingOrTwoOfThemAre415WithTheCodingsThatAreTaken) {
  serve();
  for (const char* each : {"br", "gzip, gzip", "gzip\r\nContent-Encoding: zstd", "gzip, br"}) {
    const std::string coding = "Content-Encoding: " + std::string(each) + "\r\n";
    expect_refused(post("/decoded", gzip("text"), coding), "415",
                   "Accept-Encoding: gzip, deflate, zstd\r\n");
    expect_refused(chunked("/decoded", gzip("text"), coding, 3), "415",
                   "Accept-Encoding: gzip, deflate, zstd\r\n");
  }
  expect_refused(
      post("/decoded", "x", "Content-Encoding: gzip\r\nContent-Encoding: br\r\n"), "415",
      R"("code":"not-supported","message":"Content-Encoding \"gzip, br\": the body may have )"
      R"(one of these codings, or none: gzip, deflate, zstd")");
}

TEST_F(BodyCoding, ARefusalHasTheFormOfThePath) {
  serve();
  const std::string other = "Content-Encoding: br\r\n";
  expect_refused(
      post("/v1/chat/completions", "x", other), "415",
      R"("type":"invalid_request_error","param":null,"code":"unsupported_content_encoding")");
  expect_refused(
      post("/v1/messages", "x", other), "415",
      R"({"type":"error","error":{"type":"invalid_request_error","message":"Content-Enc)");
  expect_refused(
      post("/v1/chat/completions", "{}", kGzip), "400",
      R"({"error":{"message":"Content-Encoding gzip: the body is not gzip: incorrect )"
      R"(header check, near byte 2","type":"invalid_request_error","param":null,"code":null}})");
  expect_refused(
      post("/v1/messages", "{}", kGzip), "400",
      R"({"type":"error","error":{"type":"invalid_request_error","message":"Content-Enc)");
}

TEST_F(BodyCoding, ABodyThatIsNotInItsCodingIs400) {
  serve();
  const std::string body = gzip("text");
  expect_refused(post("/decoded", "{}", kGzip), "400", "not gzip: incorrect header check");
  expect_refused(post("/decoded", body.substr(0, 9), kGzip), "400",
                 "the body is cut short: it ends after 9 bytes");
  expect_refused(chunked("/decoded", body.substr(0, 9), kGzip, 2), "400", "the body is cut short");
  expect_refused(post("/decoded", body + "{}", kGzip), "400", "not gzip: bytes follow its end");
  expect_refused(post("/decoded", body, "Content-Encoding: deflate\r\n"), "400", "not zlib");
  expect_refused(post("/decoded", body, "Content-Encoding: zstd\r\n"), "400", "not zstd");
  // The client writes the rest when the program has read all before.
  RawClient client(server->port());
  client.write(head("/decoded", kGzip) + "Content-Length: " + std::to_string(body.size()) +
               "\r\n\r\n" + body.substr(0, 15));
  server->status_when([](const wire::StatusReply& now) { return now.instance_count == 1; });
  const std::string answer = client.http(std::string(body.size() - 15, 'x'));
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 400 ")) << answer;
}

TEST_F(BodyCoding, ABombIs413AndSoIsABodyThatIsTooLargeOnceItIsDecoded) {
  ServerOptions options = options_with_endpoints();
  serve(options);
  const std::string bomb = gzip(std::string(16u << 20, '\0'));
  expect_refused(post("/decoded", bomb, kGzip), "413", "decompression_ratio_max: ");
  expect_refused(chunked("/decoded", bomb, kGzip, 1000), "413", "decompression_ratio_max: ");
  options.sockets.request_body_bytes_max = 1000;
  serve(options);
  const std::string body = gzip(std::string(1001, 'x'));
  expect_refused(post("/decoded", body, kGzip), "413",
                 "request_body_bytes_max: the decoded body has more than 1000 bytes");
  EXPECT_TRUE(ask(post("/decoded", gzip(std::string(1000, 'x')), kGzip + kClose))
                  .starts_with("HTTP/1.1 200 "));
  EXPECT_TRUE(ask(post("/sent", body, kGzip + kClose)).starts_with("HTTP/1.1 200 "));
}

TEST_F(BodyCoding, AProgramThatDoesNotReadTheBodyEndsTheConnection) {
  serve();
  SeededRandom random(2);
  std::string text;
  while (text.size() < 2'000'000) text += std::to_string(random.next() % 100'000) + " ";
  expect_refused(post("/deaf", gzip(text), kGzip), "200", "content-length: 0");
}

TEST_F(BodyCoding, ABodyThatDripsIsTimedOut) {
  ServerOptions options = options_with_endpoints();
  options.sockets.body_part_time_max = std::chrono::milliseconds(200);
  serve(options);
  const std::string body = gzip("text");
  const std::string answer =
      ask(head("/v1/chat/completions", kGzip) + "Content-Length: 1000\r\n\r\n" + body.substr(0, 3));
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 408 ")) << answer;
  EXPECT_NE(answer.find(R"("type":"invalid_request_error")"), std::string::npos) << answer;
}

TEST_F(BodyCoding, APageOfAnAllowedOriginMaySendACoding) {
  serve();
  const std::string asked = ask(
      "OPTIONS /decoded HTTP/1.1\r\nHost: localhost\r\nOrigin: https://page.example\r\n" + kClose +
      "Access-Control-Request-Method: POST\r\n"
      "Access-Control-Request-Headers: content-encoding\r\n\r\n");
  EXPECT_TRUE(asked.starts_with("HTTP/1.1 204 ")) << asked;
  EXPECT_NE(asked.find("Access-Control-Allow-Headers: content-encoding\r\n"), std::string::npos)
      << asked;
}

}  // namespace
}  // namespace body_coding_test
}  // namespace quire::server
