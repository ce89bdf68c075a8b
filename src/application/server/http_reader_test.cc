#include "application/server/http_reader.h"

#include <gtest/gtest.h>
#include <quire_paths.h>

#include <filesystem>
#include <vector>

#include "application/server/http_reader_test_support.h"
#include "base/file.h"

namespace quire::server {
namespace {

const std::string kHost = "Host: localhost\r\n";

std::string get(const std::string& target, const std::string& more = "") {
  return "GET " + target + " HTTP/1.1\r\n" + kHost + more + "\r\n";
}
// The head that was read; a test fails if it was not.
HttpHead head_of(const std::string& bytes) {
  HttpReader reader({.header_bytes_max = 8192, .body_bytes_max = 1u << 20});
  reader.add(bytes);
  auto read = reader.read_head();
  EXPECT_TRUE(std::holds_alternative<HttpHead>(read)) << bytes;
  return std::holds_alternative<HttpHead>(read) ? std::get<HttpHead>(read) : HttpHead{};
}
// The files of the fuzzer whose names begin so, with their bytes.
std::vector<std::pair<std::string, std::string>> corpus(const std::string& prefix) {
  std::vector<std::pair<std::string, std::string>> files;
  for (const auto& each :
       std::filesystem::directory_iterator(QUIRE_SOURCE_DIR "/tests/fuzz/http_reader_fuzz")) {
    const std::string name = each.path().filename().string();
    if (!name.starts_with(prefix)) continue;
    files.emplace_back(name, read_file(each.path().string(), 1u << 20).take());
  }
  EXPECT_GT(files.size(), 3u) << prefix;
  return files;
}

TEST(HttpReader, ReadsRequestsOneAfterAnotherInAnyPieces) {
  const std::string bytes = get("/a") + "POST /b HTTP/1.1\r\n" + kHost +
                            "Content-Length: 5\r\n\r\nhello" + "POST /c HTTP/1.1\r\n" + kHost +
                            "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n" +
                            get("/d");
  const std::string host = " {host: localhost\n}";
  const std::string wanted = "GET /a" + host + " []\n" +
                             "POST /b {host: localhost\ncontent-length: 5\n} [hello]\n" +
                             "POST /c" + host + " [abcde]\n" + "GET /d" + host + " []\nmore";
  for (const std::size_t piece : {bytes.size(), std::size_t{1}, std::size_t{3}, std::size_t{64}}) {
    EXPECT_EQ(read_requests(bytes, piece).text(), wanted) << piece;
  }
}

TEST(HttpReader, GivesTheProgramHeadersThatAreNotOfTheConnection) {
  const HttpHead head = head_of(
      "POST /x?y=1 HTTP/1.1\r\nHost: a\r\nX-One:  b c \r\nX-one: d\r\nConnection: keep-alive\r\n"
      "TE: trailers\r\nExpect: 100-Continue\r\nX-Request-ID: mine\r\nOrigin: http://o\r\n"
      "Keep-Alive: 5\r\nContent-Length: 3\r\n\r\n");
  EXPECT_EQ(head.lines, "host: a\nx-one: b c\nx-one: d\norigin: http://o\ncontent-length: 3\n");
  EXPECT_EQ(head.expectation, "100-continue");
  EXPECT_EQ(head.request_id, "mine");
  EXPECT_EQ(head.hosts, std::vector<std::string>{"a"});
  EXPECT_EQ(head.origins, std::vector<std::string>{"http://o"});
  EXPECT_EQ(head.content_bytes, 3u);
  EXPECT_TRUE(head.has_body);
  EXPECT_TRUE(head.keeps_alive);
}

TEST(HttpReader, TakesTheHostOutOfATargetOfTheAbsoluteForm) {
  struct Row {
    const char* target;
    const char* authority;
    const char* path;
  };
  for (const Row& each :
       std::initializer_list<Row>{{"http://localhost:80/x?y=/", "localhost:80", "/x?y=/"},
                                  {"HTTPS://[::1]:7847/v1/models", "[::1]:7847", "/v1/models"},
                                  {"http://localhost", "localhost", "/"},
                                  {"http://localhost?y", "localhost", "/?y"},
                                  {"/x?to=http://other/", "", "/x?to=http://other/"},
                                  {"/http://other/", "", "/http://other/"},
                                  {"//other/x", "", "//other/x"},
                                  {"*", "", "*"}}) {
    const HttpHead head = head_of(get(each.target));
    EXPECT_EQ(head.authority, each.authority) << each.target;
    EXPECT_EQ(head.target, each.path) << each.target;
    EXPECT_EQ(head.lines, "host: localhost\n") << each.target;
  }
  EXPECT_EQ(head_of("OPTIONS http://a HTTP/1.1\r\n" + kHost + "\r\n").target, "*");
  EXPECT_EQ(head_of("GET http://a:1/x HTTP/1.0\r\n\r\n").lines, "host: a:1\n");
  for (const char* wrong : {"http:///x", "http://", "http://user@localhost/", "ftp://localhost/x",
                            "ws://localhost/", "http://?x"}) {
    EXPECT_EQ(read_requests(get(wrong), 7).text(), "problem 400") << wrong;
  }
}

TEST(HttpReader, KnowsWhetherTheConnectionGoesOn) {
  EXPECT_TRUE(head_of(get("/")).keeps_alive);
  EXPECT_FALSE(head_of(get("/", "Connection: close\r\n")).keeps_alive);
  EXPECT_FALSE(head_of("GET / HTTP/1.0\r\n\r\n").keeps_alive);
  EXPECT_TRUE(head_of("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n").keeps_alive);
  EXPECT_TRUE(head_of("GET / HTTP/1.0\r\n\r\n").is_http_1_0);
}

TEST(HttpReader, ARequestWithoutALengthHasNoBody) {
  const HttpHead head = head_of("POST / HTTP/1.1\r\n" + kHost + "\r\n");
  EXPECT_FALSE(head.has_body);
  EXPECT_FALSE(head_of("POST / HTTP/1.1\r\n" + kHost + "Content-Length: 0\r\n\r\n").has_body);
}

TEST(HttpReader, AHeadBeyondTheLimitIsAProblem) {
  const HttpReaderLimits limits = {.header_bytes_max = 256, .body_bytes_max = 10};
  const std::string long_head = get("/", "X: " + std::string(300, 'a') + "\r\n");
  for (const std::size_t piece : {long_head.size(), std::size_t{1}}) {
    const ReadRequests read = read_requests(long_head, piece, limits);
    EXPECT_EQ(read.text(), "problem 431");
    EXPECT_EQ(read.problem, "http_header_bytes_max: the header has more than 256 bytes");
  }
  EXPECT_EQ(read_requests(get("/", "X: " + std::string(100, 'a') + "\r\n"), 7, limits).end, "more");
  // A client that never ends its head is not waited for.
  EXPECT_EQ(read_requests(std::string(1000, 'a'), 1, limits).text(), "problem 431");
}

TEST(HttpReader, ABodyBeyondTheLimitIsAProblem) {
  const HttpReaderLimits limits = {.header_bytes_max = 256, .body_bytes_max = 10};
  const std::string head = "POST / HTTP/1.1\r\n" + kHost;
  const ReadRequests read = read_requests(head + "Content-Length: 11\r\n\r\n", 7, limits);
  EXPECT_EQ(read.text(), "problem 413");
  EXPECT_EQ(read.problem, "request_body_bytes_max: the body has more than 10 bytes");
  const std::string chunked = head + "Transfer-Encoding: chunked\r\n\r\n6\r\nabcdef\r\n";
  EXPECT_EQ(read_requests(chunked + "5\r\nghijk\r\n0\r\n\r\n", 7, limits).text(), "problem 413");
  EXPECT_EQ(read_requests(chunked + "4\r\nghij\r\n0\r\n\r\n", 7, limits).end, "more");
}

TEST(HttpReader, ALargeBodyComesInBoundedParts) {
  const std::string body(900'000, 'b');
  const std::string bytes = "POST / HTTP/1.1\r\n" + kHost +
                            "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  const ReadRequests read = read_requests(bytes, 16'384);
  EXPECT_NE(read.requests.find("[" + body + "]\n"), std::string::npos);
}

TEST(HttpReader, AChunkLineWithoutAnEndIsAProblemAndNotAHang) {
  const std::string head = "POST / HTTP/1.1\r\n" + kHost + "Transfer-Encoding: chunked\r\n\r\n";
  EXPECT_EQ(read_requests(head + "5;" + std::string(100'000, 'a'), 4096).end, "problem 400");
  EXPECT_EQ(read_requests(head + "0\r\nX: " + std::string(100'000, 'a'), 4096).end, "problem 400");
}

// No bytes after the first request are ever taken for another one.
TEST(HttpReader, SmugglingFormsEndTheReading) {
  for (const auto& [name, bytes] : corpus("refused")) {
    ASSERT_NE(bytes.find("/smuggled"), std::string::npos) << name;
    for (const std::size_t piece : {bytes.size(), std::size_t{1}, std::size_t{5}}) {
      const ReadRequests read = read_requests(bytes, piece);
      EXPECT_EQ(read.requests, "") << name;
      EXPECT_TRUE(read.end.starts_with("problem ")) << name << ": " << read.end;
      EXPECT_FALSE(read.problem.empty()) << name;
    }
  }
}

TEST(HttpReader, UnusualRequestsThatAreSoundAreTaken) {
  for (const auto& [name, bytes] : corpus("taken")) {
    const ReadRequests read = read_requests(bytes, 5);
    EXPECT_EQ(read.end, "more") << name << ": " << read.problem;
    EXPECT_TRUE(read.requests.find("GET /last ") != std::string::npos) << name << read.requests;
  }
}

}  // namespace
}  // namespace quire::server
