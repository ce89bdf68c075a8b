// The effect of one exchange on its client, without a socket.
#include "application/net/transfer.h"

#include "application/net/net_test_support.h"
#include "base/clock.h"
#include "base/random.h"
#include "support/deflated.h"

namespace quire::net {
namespace {

std::string gzip(const std::string& text) {
  return deflated(text, 15 + 16, 9);
}

TEST(ZlibDecoder, GivesTheSameHoweverItIsFedAndHoweverLittleItMayGive) {
  SeededRandom random(1);
  std::string text;
  for (int i = 0; i < 3000; ++i)
    text += std::to_string(random.next() % 1000) + std::string(40, 'a');
  const std::string bytes = gzip(text.substr(0, 50'000)) + gzip("") + gzip(text.substr(50'000));
  for (int round = 0; round < 50; ++round) {
    ZlibDecoder decoder(ZlibFormat::Gzip);
    std::string out;
    std::string_view rest = bytes;
    while (!rest.empty() || decoder.has_more()) {
      std::string_view piece = rest.substr(0, 1 + random.next() % 3000);
      const std::size_t given = piece.size();
      ASSERT_TRUE(decoder.decode(piece, out, out.size() + 1 + random.next() % 5000).ok());
      rest.remove_prefix(given - piece.size());
    }
    EXPECT_TRUE(decoder.whole());
    ASSERT_EQ(out, text);
  }
}

TEST(ZlibDecoder, SaysOfBrokenBytesThatTheyAre) {
  const std::string good = gzip(std::string(100'000, 'x') + "end");
  for (std::size_t at = 0; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x55);
    ZlibDecoder decoder(ZlibFormat::Gzip);
    std::string out;
    std::string_view rest = bad;
    const bool ok = decoder.decode(rest, out, 1 << 20).ok();
    // The header's time, flags and system are not checked.
    if (at < 4 || at >= 10) {
      EXPECT_FALSE(ok && decoder.whole()) << at;
    }
    std::string_view cut = std::string_view(good).substr(0, at);
    ZlibDecoder short_decoder(ZlibFormat::Gzip);
    out.clear();
    EXPECT_TRUE(short_decoder.decode(cut, out, 1 << 20).ok());
    EXPECT_EQ(short_decoder.whole(), at == 0);
  }
}

TEST(ZlibDecoder, NothingFollowsAStreamOfZlibAndMembersAloneFollowOneOfGzip) {
  const std::string stream = deflated("text", 15, 9);
  std::string out;
  ZlibDecoder decoder(ZlibFormat::Zlib);
  std::string_view rest = stream;
  ASSERT_TRUE(decoder.decode(rest, out, 100).ok());
  EXPECT_EQ(out, "text");
  EXPECT_TRUE(decoder.whole());
  rest = stream;
  Result<void> second = decoder.decode(rest, out, 100);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().message(), "the body is not zlib (RFC 1950): bytes follow its end");
  const std::string more = gzip("text") + "x";
  ZlibDecoder members(ZlibFormat::Gzip);
  rest = more;
  second = members.decode(rest, out, 100);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().message(), "the body is not gzip: bytes follow its end");
  for (const std::string& other : {gzip("text"), deflated("text", -15, 9)}) {
    ZlibDecoder wrong(ZlibFormat::Zlib);
    rest = other;
    EXPECT_FALSE(wrong.decode(rest, out, 100).ok());
  }
}

// A transfer of a public address whose time is the test's.
class TransferTest : public testing::Test {
 protected:
  void begin(HttpRequest request) {
    transfer.emplace(std::move(request), classify, now_ns);
    EXPECT_FALSE(transfer->begin_hop(now_ns));
    transfer->connected(now_ns);
  }
  static HttpRequest request(bool is_streamed = false) {
    HttpRequest made = get_request("http://9.9.9.9/", grants({"*"}));
    made.is_streamed = is_streamed;
    return made;
  }
  bool head(const std::string& headers = "", const char* status = "200 OK") {
    bool goes_on = transfer->header("HTTP/1.1 " + std::string(status) + "\r\n", now_ns);
    std::string_view rest = headers;
    while (goes_on && !rest.empty()) {
      const std::size_t end = rest.find("\r\n") + 2;
      goes_on = transfer->header(rest.substr(0, end), now_ns);
      rest.remove_prefix(end);
    }
    return goes_on && transfer->header("\r\n", now_ns);
  }
  Transfer::Intake body(const std::string& bytes) {
    const Transfer::Intake intake = transfer->body(bytes, now_ns);
    transfer->verify();
    return intake;
  }
  HttpEvent event() {
    std::optional<HttpEvent> taken = transfer->take_event();
    transfer->verify();
    EXPECT_TRUE(taken);
    return taken ? *std::move(taken) : HttpEvent{};
  }
  void expect_failed(ErrorCode code, const std::string& text) {
    EXPECT_EQ(transfer->stage(), Transfer::Stage::Failed);
    expect_error(event(), code, text);
    EXPECT_FALSE(transfer->take_event());
  }

  std::uint64_t now_ns = 5 * kSecond;
  std::optional<Transfer> transfer;
};

TEST_F(TransferTest, OnlyACheckedAddressAtTheUrlsPortMayBeConnectedTo) {
  begin(request());
  EXPECT_TRUE(transfer->may_connect(address("9.9.9.9"), 80));
  EXPECT_FALSE(transfer->may_connect(address("9.9.9.9"), 81));
  expect_failed(ErrorCode::PermissionDenied, "9.9.9.9, port 81, is none that was checked");
  begin(request());
  EXPECT_FALSE(transfer->may_connect(address("127.0.0.1"), 80));
  expect_failed(ErrorCode::PermissionDenied, "127.0.0.1");
}

TEST_F(TransferTest, AWholeResponseIsOneEvent) {
  begin(request());
  EXPECT_TRUE(head("X-One: 1\r\n"));
  EXPECT_EQ(body("some "), Transfer::Intake::Taken);
  EXPECT_EQ(body("text"), Transfer::Intake::Taken);
  EXPECT_FALSE(transfer->take_event());
  transfer->ended();
  const HttpEvent whole = event();
  EXPECT_EQ(whole.kind, HttpEventKind::Whole);
  EXPECT_EQ(whole.head.status, 200);
  EXPECT_EQ(header_lines(whole.head.headers), "x-one: 1\n");
  EXPECT_EQ(whole.body, "some text");
  EXPECT_FALSE(transfer->take_event());
}

TEST_F(TransferTest, AServerThatSaysNothingIsAnError) {
  begin(request());
  transfer->ended();
  expect_failed(ErrorCode::Io, "without a response");
}

TEST_F(TransferTest, ASlowReaderHoldsOneChunkAndTheServerWaits) {
  begin(request(true));
  EXPECT_TRUE(head());
  EXPECT_EQ(event().kind, HttpEventKind::Head);
  const std::string piece(kReceivedBytesMax, 'p');
  std::size_t given = 0;
  while (body(piece) == Transfer::Intake::Taken) given += piece.size();
  EXPECT_EQ(given, kBodyChunkBytesMax);
  EXPECT_FALSE(transfer->take_event());
  // Time passes, but it is the program that does not want more.
  now_ns += 500 * kSecond;
  transfer->check_time(now_ns);
  transfer->read(now_ns);
  EXPECT_EQ(event().body.size(), kBodyChunkBytesMax);
  EXPECT_TRUE(transfer->wants_body());
  now_ns += 29 * kSecond;
  transfer->check_time(now_ns);
  transfer->read(now_ns);
  EXPECT_FALSE(transfer->take_event());
  EXPECT_EQ(body("last"), Transfer::Intake::Taken);
  transfer->ended();
  EXPECT_EQ(event().body, "last");
  transfer->read(now_ns);
  const HttpEvent end = event();
  EXPECT_FALSE(end.error);
  EXPECT_EQ(end.body, "");
}

TEST_F(TransferTest, WhatCameBeforeAFailureIsGivenBeforeTheFailure) {
  begin(request(true));
  EXPECT_TRUE(head());
  (void)event();
  EXPECT_EQ(body("half"), Transfer::Intake::Taken);
  transfer->fail(Error(ErrorCode::Io, "reset"));
  transfer->read(now_ns);
  EXPECT_EQ(event().body, "half");
  for (int i = 0; i < 2; ++i) {
    transfer->read(now_ns);
    expect_error(event(), ErrorCode::Io, "GET http://9.9.9.9:80/: reset");
  }
}

TEST_F(TransferTest, EachLimitOfTimeIsNamed) {
  transfer.emplace(get_request("http://a.com/", grants({"*"})), classify, now_ns);
  EXPECT_TRUE(transfer->begin_hop(now_ns));
  EXPECT_EQ(transfer->end_ns(), now_ns + 10 * kSecond);
  transfer->check_time(now_ns + 10 * kSecond - 1);
  EXPECT_FALSE(transfer->is_over());
  transfer->check_time(now_ns + 10 * kSecond);
  expect_failed(ErrorCode::Timeout, "http.connect_ns_max: not done after 10.0 s");
  begin(request());
  transfer->check_time(now_ns + 60 * kSecond);
  expect_failed(ErrorCode::Timeout, "http.first_byte_ns_max");
  begin(request());
  EXPECT_TRUE(head());
  transfer->check_time(now_ns + 30 * kSecond);
  expect_failed(ErrorCode::Timeout, "http.idle_ns_max");
  begin(request());
  EXPECT_TRUE(head());
  const std::uint64_t begin_ns = now_ns;
  while (now_ns < begin_ns + 600 * kSecond) {  // A drop now and then keeps it from idling.
    transfer->check_time(now_ns);
    EXPECT_EQ(body("."), Transfer::Intake::Taken);
    now_ns += 29 * kSecond;
  }
  transfer->check_time(now_ns);
  expect_failed(ErrorCode::Timeout, "http.total_ns_max");
}

TEST_F(TransferTest, EachLimitOfSizeIsNamed) {
  HttpRequest small = request(true);
  small.limits.response_body_bytes_max = 10;
  begin(std::move(small));
  EXPECT_TRUE(head());
  (void)event();
  EXPECT_EQ(body("0123456789"), Transfer::Intake::Taken);
  EXPECT_EQ(body("x"), Transfer::Intake::Stop);
  transfer->read(now_ns);
  EXPECT_EQ(event().body, "0123456789");
  transfer->read(now_ns);
  expect_failed(ErrorCode::TooLarge, "http.response_body_bytes_max");

  small = request();
  small.limits.whole_body_bytes_max = 10;
  begin(std::move(small));
  EXPECT_TRUE(head());
  EXPECT_EQ(body("0123456789"), Transfer::Intake::Taken);
  EXPECT_EQ(body("x"), Transfer::Intake::Stop);
  expect_failed(ErrorCode::TooLarge, "http.whole_body_bytes_max");

  small = request();
  small.limits.response_header_bytes_max = 100;
  begin(std::move(small));
  EXPECT_FALSE(head("a: " + std::string(90, 'x') + "\r\n"));
  expect_failed(ErrorCode::TooLarge, "http.response_header_bytes_max");
}

TEST_F(TransferTest, ABombIsDefusedBeforeItBecomesMemory) {
  const std::string bomb = gzip(std::string(64u << 20, '\0'));  // 64 KiB of it.
  for (const bool is_streamed : {false, true}) {
    HttpRequest large = request(is_streamed);
    large.limits.whole_body_bytes_max = 64u << 20;
    begin(std::move(large));
    EXPECT_TRUE(head("Content-Encoding: gzip\r\n"));
    if (is_streamed) (void)event();
    std::size_t decoded = 0;
    bool stopped = false;
    for (std::size_t at = 0; at < bomb.size() && !stopped; at += kReceivedBytesMax) {
      const std::string piece = bomb.substr(at, kReceivedBytesMax);
      while (body(piece) == Transfer::Intake::Full) {
        transfer->read(now_ns);
        const HttpEvent chunk = event();
        EXPECT_LE(chunk.body.size(), kBodyChunkBytesMax);
        decoded += chunk.body.size();
      }
      stopped = transfer->is_over();
    }
    EXPECT_TRUE(stopped);
    EXPECT_LE(decoded, 2 * kDecompressionFreeBytes + kBodyChunkBytesMax);
    if (is_streamed) {
      transfer->read(now_ns);
      std::optional<HttpEvent> last = transfer->take_event();
      if (last && !last->error) {
        transfer->read(now_ns);
        last = transfer->take_event();
      }
      ASSERT_TRUE(last);
      expect_error(*last, ErrorCode::TooLarge, "http.decompression_ratio_max");
    } else {
      expect_failed(ErrorCode::TooLarge, "http.decompression_ratio_max");
    }
  }
  begin(request());
  EXPECT_TRUE(head("Content-Encoding: gzip\r\n"));
  EXPECT_EQ(body(bomb.substr(0, kReceivedBytesMax)), Transfer::Intake::Stop);
  expect_failed(ErrorCode::TooLarge, "http.whole_body_bytes_max");
  HttpRequest small = request(true);
  small.limits.decompressed_bytes_max = 5000;
  begin(std::move(small));
  EXPECT_TRUE(head("Content-Encoding: gzip\r\n"));
  (void)event();
  EXPECT_EQ(body(gzip(std::string(6000, 'x'))), Transfer::Intake::Stop);
  EXPECT_EQ(transfer->stage(), Transfer::Stage::Failed);
}

TEST_F(TransferTest, ACompressedResponseIsTheTextThatItWas) {
  SeededRandom random(3);
  std::string text;
  while (text.size() < 300'000) text += "{\"value\": " + std::to_string(random.next()) + "},";
  const std::string bytes = gzip(text);
  for (const bool is_streamed : {false, true}) {
    begin(request(is_streamed));
    EXPECT_TRUE(head("Content-Encoding: gzip\r\nContent-Length: 5\r\nX: y\r\n"));
    if (is_streamed) {
      EXPECT_EQ(header_lines(event().head.headers), "x: y\n");
    }
    std::string got;
    for (std::size_t at = 0; at < bytes.size(); at += 1000) {
      while (body(bytes.substr(at, 1000)) == Transfer::Intake::Full) {
        transfer->read(now_ns);
        got += event().body;
      }
    }
    transfer->ended();
    while (is_streamed) {
      transfer->read(now_ns);
      const HttpEvent chunk = event();
      ASSERT_FALSE(chunk.error) << chunk.error->message();
      if (chunk.body.empty()) break;
      got += chunk.body;
    }
    if (!is_streamed) got = event().body;
    EXPECT_EQ(got, text);
    EXPECT_EQ(transfer->stage(), Transfer::Stage::Ended);
  }
  begin(request());
  EXPECT_TRUE(head("Content-Encoding: gzip\r\n"));
  EXPECT_EQ(body(bytes.substr(0, bytes.size() - 1)), Transfer::Intake::Taken);
  transfer->ended();
  expect_failed(ErrorCode::Corrupted, "cut short");
  begin(request());
  EXPECT_TRUE(head("Content-Encoding: gzip\r\n"));
  EXPECT_EQ(body("no gzip at all"), Transfer::Intake::Stop);
  expect_failed(ErrorCode::Corrupted, "not gzip");
}

TEST_F(TransferTest, WhoNamesACodingGetsTheBytesAsTheyCome) {
  HttpRequest raw = request();
  raw.hop.headers = {{"accept-encoding", "gzip"}};
  begin(std::move(raw));
  EXPECT_TRUE(head("Content-Encoding: gzip\r\n"));
  EXPECT_EQ(body("anything"), Transfer::Intake::Taken);
  transfer->ended();
  const HttpEvent whole = event();
  EXPECT_EQ(whole.body, "anything");
  EXPECT_EQ(header_lines(whole.head.headers), "content-encoding: gzip\n");
}

TEST_F(TransferTest, RedirectsAreFollowedSoManyTimes) {
  HttpRequest two = request();
  two.limits.redirect_count_max = 2;
  begin(std::move(two));
  for (int i = 0; i < 2; ++i) {
    EXPECT_FALSE(head("Location: /again\r\n", "302 Found"));
    EXPECT_TRUE(transfer->next_hop());
    EXPECT_EQ(text_of(transfer->hop().url), "http://9.9.9.9:80/again");
    EXPECT_FALSE(transfer->begin_hop(now_ns));
    EXPECT_FALSE(transfer->next_hop());
    transfer->connected(now_ns);
  }
  EXPECT_FALSE(head("Location: /again\r\n", "302 Found"));
  EXPECT_FALSE(transfer->next_hop());
  expect_failed(ErrorCode::QuotaExceeded, "http.redirect_count_max");
}

TEST_F(TransferTest, AStreamedBodyIsSentAsItIsWritten) {
  HttpRequest upload = request(true);
  upload.hop.method = "PUT";
  upload.hop.has_body = upload.is_body_streamed = true;
  begin(std::move(upload));
  char room[4] = {};
  EXPECT_FALSE(transfer->send(room, 4, now_ns));
  EXPECT_FALSE(transfer->has_to_send());
  // The server cannot be late while the program has not written.
  transfer->check_time(now_ns + 100 * kSecond);
  EXPECT_FALSE(transfer->is_over());
  transfer->write("sixsix", now_ns);
  EXPECT_TRUE(transfer->has_to_send());
  EXPECT_EQ(transfer->send(room, 4, now_ns), 4u);
  EXPECT_FALSE(transfer->take_event());
  EXPECT_EQ(transfer->send(room, 4, now_ns), 2u);
  EXPECT_EQ(std::string(room, 4), "ixxs");
  EXPECT_EQ(event().kind, HttpEventKind::Sent);
  EXPECT_FALSE(transfer->send(room, 4, now_ns));
  // An answer before the end of the body.
  transfer->write("more", now_ns);
  EXPECT_TRUE(head("", "413 Too Large"));
  transfer->ended();
  EXPECT_EQ(event().head.status, 413);
  expect_error(event(), ErrorCode::Unavailable, "reads no more");
  transfer->write("still more", now_ns);
  expect_error(event(), ErrorCode::Unavailable, "reads no more");
}

}  // namespace
}  // namespace quire::net
