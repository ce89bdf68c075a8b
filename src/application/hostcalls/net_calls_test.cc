// The calls of interface/net.wit as a guest sees them, with servers that are scripts.
#include "application/hostcalls/hostcalls_fixture.h"
#include "base/clock.h"

namespace quire::hostcalls {
namespace {

constexpr std::uint32_t kUrl = 8192, kHeaders = 12288, kBody = 16384, kMethod = 32000;

class NetCalls : public HostCalls {
 protected:
  void SetUp() override {
    limits.http_grants = {net::parse_http_grant("*").value()};
    restart(limits, {});
    http.respond("http://a.example:80/", {.status = 201,
                                          .headers = "X-One: 1\nx-two: 2\n",
                                          .body = {{0, "first "}, {kMillisecond, "second"}}});
    http.respond("http://a.example:80/broken",
                 {.body = {{0, "some"}}, .failure = "the connection broke"});
    http.respond("http://a.example:80/late", {.after_ns = kMillisecond});
  }
  void TearDown() override {
    if (state == nullptr) return;
    state.reset();
    EXPECT_EQ(http.live_count(), 0u) << "an exchange outlives its instance";
  }

  std::int64_t get(const std::string& url, const std::string& headers = "") {
    host->put(kUrl, url);
    host->put(kHeaders, headers);
    return call("net", "http-get",
                {kUrl, static_cast<std::int64_t>(url.size()), kHeaders,
                 static_cast<std::int64_t>(headers.size())});
  }
  std::int64_t post(const std::string& url, const std::string& body) {
    host->put(kUrl, url);
    host->put(kBody, body);
    return call("net", "http-post",
                {kUrl, static_cast<std::int64_t>(url.size()), kHeaders, 0, kBody,
                 static_cast<std::int64_t>(body.size())});
  }
  std::int64_t open(const std::string& method, const std::string& url, std::int64_t body_bytes) {
    host->put(kMethod, method);
    host->put(kUrl, url);
    return call("net", "http-request",
                {kMethod, static_cast<std::int64_t>(method.size()), kUrl,
                 static_cast<std::int64_t>(url.size()), kHeaders, 0, body_bytes});
  }
  std::int64_t write(std::int64_t exchange, const std::string& bytes) {
    host->put(kBody, bytes);
    return call("net", "write-body", {exchange, kBody, static_cast<std::int64_t>(bytes.size())});
  }
  std::int64_t head(std::int64_t exchange) { return call("net", "response-head", {exchange}); }
  std::int64_t read(std::int64_t exchange) { return call("net", "read-body", {exchange}); }
  // Takes the client's events in, as the manager does each turn.
  void turn(std::uint64_t ns = 0) {
    clock.advance_ns(ns);
    for (net::HttpEvent& each : http.take_events()) state->http.take_in(std::move(each));
    state->verify();
  }
  std::string taken(std::int64_t future) {
    const std::int64_t bytes = take(future);
    if (bytes < 0) return "error " + std::to_string(bytes) + ": " + state->last_error;
    return host->get(kBuffer, static_cast<std::uint32_t>(bytes));
  }
  void expect_refused(std::int64_t result, ErrorCode code, const std::string& text) {
    EXPECT_EQ(result, minus(code)) << state->last_error;
    EXPECT_NE(state->last_error.find(text), std::string::npos) << state->last_error;
  }

  GuestLimits limits;
};

std::string head_bytes(std::uint32_t status, const std::string& lines) {
  const std::uint32_t record[2] = {status, static_cast<std::uint32_t>(lines.size())};
  return std::string(reinterpret_cast<const char*>(record), sizeof record) + lines;
}

TEST_F(NetCalls, GetAndPostAreOneFutureEach) {
  const std::int64_t got = get("http://a.example/", "Accept: x\n");
  const std::int64_t posted = post("http://A.EXAMPLE/", "text");
  ASSERT_GT(got, 0);
  turn();
  EXPECT_EQ(take(got), minus(ErrorCode::Unavailable));
  turn(kMillisecond);
  const std::string expected = head_bytes(201, "x-one: 1\nx-two: 2\n") + "first second";
  EXPECT_EQ(taken(got), expected);
  EXPECT_EQ(taken(posted), expected);
  ASSERT_EQ(http.sent().size(), 2u);
  EXPECT_EQ(http.sent()[0].hop.method, "GET");
  EXPECT_EQ(net::header_lines(http.sent()[0].hop.headers), "accept: x\n");
  EXPECT_EQ(http.sent()[1].hop.method, "POST");
  EXPECT_EQ(http.sent()[1].body, "text");
  EXPECT_EQ(http.live_count(), 0u);
}

TEST_F(NetCalls, WithoutAGrantEveryCallNamesTheFlag) {
  limits.http_grants.clear();
  restart(limits, {});
  expect_refused(get("http://a.example/"), ErrorCode::PermissionDenied,
                 "outbound HTTP is off for this program; start it with --allow-http a.example");
  expect_refused(post("https://a.example:8443/", "x"), ErrorCode::PermissionDenied,
                 "--allow-http a.example:8443");
  expect_refused(open("GET", "http://[::1]:81/", 0), ErrorCode::PermissionDenied,
                 "--allow-http [::1]:81");
  limits.http_grants = {net::parse_http_grant("b.example").value()};
  restart(limits, {});
  expect_refused(get("http://a.example/"), ErrorCode::PermissionDenied,
                 "no grant of this program covers a.example:80");
  EXPECT_EQ(http.live_count(), 0u);
}

TEST_F(NetCalls, AServerWithoutAClientSaysSo) {
  parts.http = nullptr;
  restart(limits, {});
  expect_refused(get("http://a.example/"), ErrorCode::NotSupported, "no outbound HTTP");
}

TEST_F(NetCalls, WrongArgumentsAreRefusedAtOnce) {
  limits.http.request_header_bytes_max = 1000;
  restart(limits, {});
  expect_refused(get("ftp://a.example/"), ErrorCode::InvalidArgument, "http:// or https://");
  expect_refused(get("http://a.example/", "Host: b"), ErrorCode::InvalidArgument, "host");
  expect_refused(get("http://a.example/", "a\r: b"), ErrorCode::InvalidArgument, "name: value");
  expect_refused(open("TRACE", "http://a.example/", 0), ErrorCode::InvalidArgument, "TRACE");
  expect_refused(open("HEAD", "http://a.example/", 4), ErrorCode::InvalidArgument, "body-bytes");
  expect_refused(open(std::string(17, 'G'), "http://a.example/", 0), ErrorCode::TooLarge, "method");
  expect_refused(get("http://a.example/" + std::string(9000, 'x')), ErrorCode::TooLarge,
                 "http.url_bytes_max");
  expect_refused(get("http://a.example/", "a: " + std::string(1000, 'x')), ErrorCode::TooLarge,
                 "http.request_header_bytes_max");
  expect_refused(open("PUT", "http://a.example/", INT64_MAX), ErrorCode::TooLarge,
                 "http.request_body_bytes_max");
  for (const char* name : {"write-body", "finish-body", "response-head", "read-body"}) {
    const std::initializer_list<std::int64_t> one = {model};
    const std::initializer_list<std::int64_t> three = {model, kBody, 1};
    EXPECT_EQ(call("net", name, std::string_view(name) == "write-body" ? three : one),
              minus(ErrorCode::NotFound))
        << name;
  }
  EXPECT_EQ(http.live_count(), 0u);
}

TEST_F(NetCalls, EachLimitOfCountIsNamed) {
  limits.http.exchange_count_max = 2;
  limits.http.call_count_max = 4;
  limits.text_bytes_max = 100;
  restart(limits, {});
  const std::int64_t first = get("http://a.example/");
  const std::int64_t second = open("GET", "http://a.example/", 0);
  expect_refused(get("http://a.example/"), ErrorCode::QuotaExceeded,
                 "http.exchange_count_max: 2 of 2");
  EXPECT_EQ(call("future", "drop", {first}), 0);
  EXPECT_EQ(http.live_count(), 1u);
  expect_refused(post("http://a.example/", std::string(101, 'x')), ErrorCode::TooLarge,
                 "text_bytes_max");
  EXPECT_GT(get("http://a.example/"), 0);
  EXPECT_EQ(call("future", "drop", {second}), 0);
  EXPECT_GT(open("GET", "http://a.example/", 0), 0);
  turn(kMillisecond);
  expect_refused(get("http://a.example/"), ErrorCode::QuotaExceeded, "http.call_count_max: 4 of 4");
}

TEST_F(NetCalls, AnErrorOfTheServerIsOneOfTheFuture) {
  const std::int64_t broken = get("http://a.example/broken");
  const std::int64_t nobody = get("http://b.example/");
  http.set_addresses("inside.example", {*net::parse_ipv4("10.0.0.1")});
  const std::int64_t inside = get("http://inside.example/");
  turn();
  EXPECT_NE(taken(broken).find("the connection broke"), std::string::npos);
  expect_refused(take(nobody), ErrorCode::Unavailable, "connection refused");
  expect_refused(take(inside), ErrorCode::PermissionDenied, "10.0.0.1");
  EXPECT_EQ(http.live_count(), 0u);
}

TEST_F(NetCalls, AnExchangeGivesItsHeadAndItsBodyInPieces) {
  const std::int64_t exchange = open("GET", "http://a.example/", 0);
  const std::int64_t first_head = head(exchange);
  expect_refused(head(exchange), ErrorCode::Unavailable, "head that waits");
  const std::int64_t first = read(exchange);
  expect_refused(read(exchange), ErrorCode::Unavailable, "read that waits");
  turn();
  EXPECT_EQ(taken(first_head), head_bytes(201, "x-one: 1\nx-two: 2\n"));
  EXPECT_EQ(taken(head(exchange)), head_bytes(201, "x-one: 1\nx-two: 2\n"));
  turn();
  EXPECT_EQ(taken(first), "first ");
  const std::int64_t second = read(exchange);
  turn(kMillisecond);
  EXPECT_EQ(taken(second), "second");
  const std::int64_t end = read(exchange);
  turn();
  EXPECT_EQ(taken(end), "");
  EXPECT_EQ(http.live_count(), 0u) << "nothing more comes, so the slot is free";
  EXPECT_EQ(taken(read(exchange)), "");
  EXPECT_EQ(call("future", "drop", {exchange}), 0);
  EXPECT_EQ(call("future", "drop", {exchange}), minus(ErrorCode::NotFound));
}

TEST_F(NetCalls, ADroppedReadLosesNothing) {
  const std::int64_t exchange = open("GET", "http://a.example/", 0);
  // Before its piece has come, and after.
  std::int64_t future = read(exchange);
  EXPECT_EQ(call("future", "drop", {future}), 0);
  turn();
  turn();
  future = read(exchange);
  EXPECT_EQ(call("future", "drop", {future}), 0);
  future = read(exchange);
  EXPECT_EQ(taken(future), "first ");
  // A dropped future of the head leaves the head too.
  future = head(exchange);
  EXPECT_EQ(call("future", "drop", {future}), 0);
  EXPECT_GT(take(head(exchange)), 8);
  const std::int64_t late = open("GET", "http://a.example/late", 0);
  future = head(late);
  EXPECT_EQ(call("future", "drop", {future}), 0);
  future = head(late);
  turn(kMillisecond);
  EXPECT_EQ(taken(future), head_bytes(200, ""));
}

TEST_F(NetCalls, AnErrorOfAnExchangeIsTheErrorOfAllThatFollows) {
  const std::int64_t exchange = open("GET", "http://a.example/broken", 0);
  std::int64_t piece = read(exchange);
  turn();
  turn();
  EXPECT_EQ(taken(piece), "some");
  for (int i = 0; i < 2; ++i) {
    piece = read(exchange);
    turn();
    EXPECT_EQ(take(piece), minus(ErrorCode::Io));
  }
  const std::int64_t refused = open("POST", "http://b.example/", -1);
  const std::int64_t futures[] = {head(refused), read(refused), write(refused, "text")};
  turn();
  for (const std::int64_t each : futures) {
    expect_refused(take(each), ErrorCode::Unavailable, "connection refused");
  }
  for (const std::int64_t each : {head(refused), read(refused), write(refused, "text")}) {
    expect_refused(take(each), ErrorCode::Unavailable, "connection refused");
  }
}

TEST_F(NetCalls, ABodyIsWrittenInPiecesAndFinished) {
  const std::int64_t exchange = open("PUT", "http://a.example/", -1);
  const std::int64_t first = write(exchange, "one, ");
  expect_refused(write(exchange, "two"), ErrorCode::Unavailable, "write that waits");
  turn();
  EXPECT_EQ(taken(first), "");
  const std::int64_t second = write(exchange, "two");
  turn();
  EXPECT_EQ(taken(second), "");
  EXPECT_EQ(call("net", "finish-body", {exchange}), 0);
  expect_refused(call("net", "finish-body", {exchange}), ErrorCode::OutOfRange, "is finished");
  expect_refused(write(exchange, "three"), ErrorCode::OutOfRange, "is finished");
  const std::int64_t answered = head(exchange);
  turn();
  EXPECT_GT(take(answered), 8);
  EXPECT_EQ(http.sent().at(0).body, "one, two");

  const std::int64_t five = open("PUT", "http://a.example/", 5);
  expect_refused(write(five, "sixsix"), ErrorCode::OutOfRange, "5 of body-bytes");
  const std::int64_t four = write(five, "four");
  turn();
  EXPECT_EQ(taken(four), "");
  expect_refused(call("net", "finish-body", {five}), ErrorCode::OutOfRange, "4 of 5 bytes");
  EXPECT_GT(open("POST", "http://a.example/", 0), 0);
  EXPECT_TRUE(http.sent().back().hop.has_body) << "content-length: 0";
  const std::int64_t none = open("GET", "http://a.example/", 0);
  expect_refused(write(none, "x"), ErrorCode::OutOfRange, "without a body");
  expect_refused(call("net", "finish-body", {none}), ErrorCode::OutOfRange, "without a body");
}

TEST_F(NetCalls, TheBytesOfAllWritesAreLimited) {
  limits.http.request_body_bytes_max = 10;
  restart(limits, {});
  const std::int64_t exchange = open("PUT", "http://a.example/", -1);
  const std::int64_t eight = write(exchange, "12345678");
  turn();
  EXPECT_EQ(taken(eight), "");
  expect_refused(write(exchange, "123"), ErrorCode::TooLarge,
                 "http.request_body_bytes_max: 3 bytes behind 8 are more than the 10");
}

TEST_F(NetCalls, DroppingAnExchangeCancelsItAndWhatWaitsForIt) {
  const std::int64_t exchange = open("PUT", "http://a.example/late", -1);
  const std::int64_t waiting[] = {head(exchange), read(exchange), write(exchange, "text")};
  EXPECT_EQ(call("future", "drop", {exchange}), 0);
  EXPECT_EQ(http.live_count(), 0u);
  for (const std::int64_t each : waiting) {
    expect_refused(take(each), ErrorCode::Cancelled, "the exchange was dropped");
  }
  const std::int64_t whole = get("http://a.example/late");
  EXPECT_EQ(call("future", "drop", {whole}), 0);
  EXPECT_EQ(http.live_count(), 0u);
  // A piece that came before is still there.
  const std::int64_t other = open("GET", "http://a.example/", 0);
  const std::int64_t piece = read(other);
  turn();
  turn();
  EXPECT_EQ(call("future", "drop", {other}), 0);
  EXPECT_EQ(taken(piece), "first ");
}

TEST_F(NetCalls, AnInstanceThatEndsLeavesNoExchange) {
  for (int i = 0; i < 4; ++i) {
    ASSERT_GT(get("http://a.example/late"), 0);
    const std::int64_t exchange = open("PUT", "http://a.example/late", -1);
    ASSERT_GT(read(exchange), 0);
    ASSERT_GT(write(exchange, "text"), 0);
  }
  EXPECT_EQ(http.live_count(), 8u);
  state->http.close_all();
  EXPECT_EQ(http.live_count(), 0u);
  state->verify();
}

TEST_F(NetCalls, TheTimeOfALimitIsTheClocks) {
  http.respond("http://a.example:80/never", {.after_ns = 3'600'000 * kMillisecond});
  const std::int64_t future = get("http://a.example/never");
  turn();
  EXPECT_EQ(http.next_event_ns(), clock.now_ns() + limits.http.first_byte_ns_max);
  turn(limits.http.first_byte_ns_max);
  expect_refused(take(future), ErrorCode::Timeout, "http.first_byte_ns_max: not done after 60.0 s");
}

}  // namespace
}  // namespace quire::hostcalls
