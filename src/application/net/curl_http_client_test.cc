// The client over real sockets, with servers that behave well, badly and not at all.
#include "application/net/curl_http_client.h"

#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <zlib.h>

#include <condition_variable>
#include <thread>

#include "application/net/curl_test_support.h"
#include "base/clock.h"
#include "support/process.h"

namespace quire::net {
namespace {

using test::HttpConnection;
using test::HttpServer;

class CurlClientTest : public testing::Test {
 protected:
  // A server whose every connection does this; what the client's requests are granted.
  void serve(HttpServer::Handler handler) {
    server = std::make_unique<HttpServer>(std::move(handler));
    ASSERT_TRUE(server->is_open());
  }
  std::string url(const std::string& target = "/") const {
    return "http://127.0.0.1:" + server->text_of_port() + target;
  }
  HttpRequest request(const std::string& method = "GET", std::string body = "") const {
    HttpRequest made = get_request(url(), grants({"127.0.0.1:" + server->text_of_port()}));
    made.hop.method = method;
    made.hop.has_body = !body.empty();
    made.body = std::move(body);
    return made;
  }
  HttpRequest streamed(const std::string& method = "GET") const {
    HttpRequest made = request(method);
    made.is_streamed = true;
    return made;
  }
  // The outcome of a GET when a connection gives these bytes and ends.
  HttpEvent fetch_raw(const std::string& bytes, bool resets = false) {
    serve([=](HttpConnection& connection) {
      if (!connection.read_request()) return;
      connection.send(bytes);
      if (resets) connection.reset();
    });
    return client.fetch(request());
  }
  std::string read_all(ExchangeId id) {
    std::string all;
    for (;;) {
      client.client.read(id);
      const HttpEvent chunk = client.next();
      EXPECT_FALSE(chunk.error) << chunk.error->message();
      if (chunk.error || chunk.body.empty()) return all;
      all += chunk.body;
    }
  }

  std::unique_ptr<HttpServer> server;
  TestClient client;
};

void echo(HttpConnection& connection) {
  if (!connection.read_request()) return;
  const std::string said = connection.method() + " " + connection.target() + " [" +
                           connection.header("content-length") + "," +
                           connection.header("transfer-encoding") + "," +
                           connection.header("x-own") + "," + connection.header("content-type") +
                           "," + connection.header("expect") + "] " + connection.body;
  connection.respond("200 OK", "", said);
}

TEST_F(CurlClientTest, EveryMethodArrivesAsItWasAsked) {
  serve(echo);
  for (const char* method : {"GET", "DELETE", "OPTIONS"}) {
    EXPECT_EQ(client.fetch(request(method)).body, std::string(method) + " / [,,,,] ");
  }
  for (const char* method : {"POST", "PUT", "PATCH", "DELETE"}) {
    HttpRequest made = request(method, "text");
    made.hop.headers = {{"x-own", "1"}, {"content-type", "a/b"}};
    EXPECT_EQ(client.fetch(std::move(made)).body, std::string(method) + " / [4,,1,a/b,] text");
  }
  HttpRequest empty = request("POST");
  empty.hop.has_body = true;
  EXPECT_EQ(client.fetch(std::move(empty)).body, "POST / [0,,,,] ");
  const HttpEvent head = client.fetch(request("HEAD"));
  EXPECT_EQ(head.body, "");
  EXPECT_EQ(*find_header(head.head.headers, "content-length"), "14");
  const std::string large(1'000'000, 'l');
  EXPECT_EQ(client.fetch(request("POST", large)).body,
            "POST / [" + std::to_string(large.size()) + ",,,,] " + large);
}

TEST_F(CurlClientTest, TheRequestSaysWhoAsksAndWhatItTakes) {
  serve([&](HttpConnection& connection) {
    if (connection.read_request()) connection.respond("200 OK", "", connection.head);
  });
  const std::string port = server->text_of_port();
  EXPECT_EQ(client.fetch(request()).body, "GET / HTTP/1.1\r\nHost: 127.0.0.1:" + port +
                                              "\r\nAccept: */*\r\nuser-agent: quire/" QUIRE_VERSION
                                              "\r\naccept-encoding: gzip\r\n\r\n");
  HttpRequest own = request();
  own.hop.headers = {{"accept", "a/b"}, {"user-agent", "me"}, {"accept-encoding", "br"}, {"e", ""}};
  EXPECT_EQ(client.fetch(std::move(own)).body,
            "GET / HTTP/1.1\r\nHost: 127.0.0.1:" + port +
                "\r\naccept: a/b\r\nuser-agent: me\r\naccept-encoding: br\r\ne:\r\n\r\n");
}

TEST_F(CurlClientTest, AResponseComesInPiecesAsTheServerSendsThem) {
  std::mutex mutex;
  std::condition_variable changed;
  int allowed = 0;
  serve([&](HttpConnection& connection) {
    if (!connection.read_request()) return;
    connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 3; ++i) {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return allowed > i; });
      connection.send("3\r\n<" + std::to_string(i) + ">\r\n");
    }
    connection.send("0\r\nTrailer: late\r\n\r\n");
  });
  const ExchangeId id = client.client.start(streamed()).value();
  EXPECT_EQ(client.next().head.status, 200);
  for (int i = 0; i < 3; ++i) {
    client.client.read(id);
    {
      std::lock_guard lock(mutex);
      ++allowed;
    }
    changed.notify_all();
    EXPECT_EQ(client.next().body, "<" + std::to_string(i) + ">");
  }
  EXPECT_EQ(read_all(id), "");
  client.client.close(id);
  client.expect_nothing_left();
}

TEST_F(CurlClientTest, ABodyIsSentAsItIsWrittenWithAndWithoutItsLength) {
  serve(echo);
  for (const bool is_known : {true, false}) {
    HttpRequest upload = streamed("PUT");
    upload.hop.has_body = upload.is_body_streamed = true;
    const std::string piece(300'000, 'p');
    if (is_known) upload.body_bytes = 4 * piece.size();
    const ExchangeId id = client.client.start(std::move(upload)).value();
    for (int i = 0; i < 4; ++i) {
      client.client.write(id, piece);
      const HttpEvent sent = client.next();
      EXPECT_EQ(sent.kind, HttpEventKind::Sent);
      EXPECT_FALSE(sent.error);
    }
    client.client.finish(id);
    EXPECT_EQ(client.next().head.status, 200);
    const std::string length = is_known ? "1200000," : ",chunked";
    EXPECT_EQ(read_all(id), "PUT / [" + length + ",,,] " + piece + piece + piece + piece);
    client.client.close(id);
    client.expect_nothing_left();
  }
}

TEST_F(CurlClientTest, AProgramThatReadsSlowlyStopsTheServer) {
  std::atomic<std::uint64_t> sent{0};
  serve([&](HttpConnection& connection) {
    if (!connection.read_request()) return;
    connection.send("HTTP/1.1 200 OK\r\n\r\n");
    const std::string piece(65536, 'e');
    while (connection.send(piece)) sent += piece.size();
  });
  const ExchangeId id = client.client.start(streamed()).value();
  EXPECT_EQ(client.next().kind, HttpEventKind::Head);
  // The server stands still once the sockets' buffers are full.
  std::uint64_t before = 0;
  do {
    before = sent;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  } while (sent != before);
  EXPECT_LT(before, 64u << 20);
  std::uint64_t got = 0;
  while (got < before + (4u << 20)) {
    client.client.read(id);
    const HttpEvent chunk = client.next();
    ASSERT_FALSE(chunk.error);
    ASSERT_LE(chunk.body.size(), kBodyChunkBytesMax);
    got += chunk.body.size();
  }
  EXPECT_GT(sent, before);
  client.client.close(id);
  client.expect_nothing_left();
}

TEST_F(CurlClientTest, EachLimitOfSizeEndsTheTransfer) {
  serve([&](HttpConnection& connection) {
    if (!connection.read_request()) return;
    connection.send("HTTP/1.1 200 OK\r\n\r\n");
    while (connection.send("for ever and ")) {
    }
  });
  expect_error(client.fetch(request()), ErrorCode::TooLarge, "http.whole_body_bytes_max");
  serve([&](HttpConnection& connection) {
    if (!connection.read_request()) return;
    connection.send("HTTP/1.1 200 OK\r\n");
    while (connection.send("name: value value value value\r\n")) {
    }
  });
  expect_error(client.fetch(request()), ErrorCode::TooLarge, "http.response_header_bytes_max");
  serve([&](HttpConnection& connection) {
    if (!connection.read_request()) return;
    connection.send("HTTP/1.1 200 OK\r\nname: ");
    while (connection.send("value value value value value value value")) {
    }
  });
  const HttpEvent line = client.fetch(request());
  ASSERT_TRUE(line.error) << "a header line without an end";
  std::string bomb(1 << 20, '\0');
  {
    const std::string zeros(256u << 20, '\0');
    z_stream stream{};
    ASSERT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, 31, 9, Z_DEFAULT_STRATEGY), Z_OK);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(zeros.data()));
    stream.avail_in = static_cast<uInt>(zeros.size());
    stream.next_out = reinterpret_cast<Bytef*>(bomb.data());
    stream.avail_out = static_cast<uInt>(bomb.size());
    ASSERT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
    bomb.resize(stream.total_out);
    deflateEnd(&stream);
  }
  serve([&](HttpConnection& connection) {
    if (connection.read_request()) connection.respond("200 OK", "Content-Encoding: gzip\r\n", bomb);
  });
  HttpRequest large = request();
  large.limits.whole_body_bytes_max = 64u << 20;
  expect_error(client.fetch(std::move(large)), ErrorCode::TooLarge, "http.decompression_ratio_max");
}

TEST_F(CurlClientTest, EachLimitOfTimeEndsTheTransfer) {
  serve([](HttpConnection& connection) {
    if (connection.read_request()) connection.wait_for_end();
  });
  HttpRequest silent = request();
  silent.limits.first_byte_ns_max = 50 * kMillisecond;
  expect_error(client.fetch(std::move(silent)), ErrorCode::Timeout, "http.first_byte_ns_max");
  serve([](HttpConnection& connection) {
    if (!connection.read_request()) return;
    connection.send("HTTP/1.1 200 OK\r\n\r\nsome");
    connection.wait_for_end();
  });
  HttpRequest stalls = request();
  stalls.limits.idle_ns_max = 50 * kMillisecond;
  expect_error(client.fetch(std::move(stalls)), ErrorCode::Timeout, "http.idle_ns_max");
  serve([](HttpConnection& connection) {
    if (!connection.read_request()) return;
    connection.send("HTTP/1.1 200 OK\r\n\r\n");
    while (connection.wait_ms(10) && connection.send("drip")) {
    }
  });
  HttpRequest drips = request();
  drips.limits.total_ns_max = 100 * kMillisecond;
  expect_error(client.fetch(std::move(drips)), ErrorCode::Timeout, "http.total_ns_max");
}

TEST_F(CurlClientTest, WhatIsNoResponseIsAnErrorAndNotAnEmptyOne) {
  expect_error(fetch_raw(""), ErrorCode::Io, "Empty reply");
  expect_error(fetch_raw("", true), ErrorCode::Io, "");
  expect_error(fetch_raw("hello\r\n\r\n"), ErrorCode::Io, "");
  expect_error(fetch_raw("HTTP/1.1 OK\r\n\r\n"), ErrorCode::Io, "");
  expect_error(fetch_raw("HTTP/1.1 200 OK\r\nno colon\r\n\r\n"), ErrorCode::Io, "colon");
  expect_error(fetch_raw("HTTP/1.1 200 OK\r\na: b"), ErrorCode::Io, "");
  expect_error(fetch_raw("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"), ErrorCode::Io, "");
  expect_error(fetch_raw("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", true), ErrorCode::Io,
               "");
  expect_error(fetch_raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhal"),
               ErrorCode::Io, "");
  expect_error(fetch_raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"),
               ErrorCode::Io, "");
  const char* codings[] = {"gzip", "gzip, chunked", "gzip\r\nTransfer-Encoding: chunked",
                           "identity"};
  for (const char* coding : codings) {
    expect_error(fetch_raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: " + std::string(coding) +
                           "\r\n\r\n0\r\n\r\n"),
                 ErrorCode::Io, "");
  }
  const HttpEvent to_the_end = fetch_raw("HTTP/1.0 200 OK\r\n\r\nall of it");
  EXPECT_FALSE(to_the_end.error);
  EXPECT_EQ(to_the_end.body, "all of it");
  EXPECT_EQ(fetch_raw("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 None\r\n\r\n").head.status, 204);
  HttpRequest nobody = request();
  server.reset();  // The port is not in use now.
  expect_error(client.fetch(std::move(nobody)), ErrorCode::Unavailable, "connect");
}

TEST_F(CurlClientTest, RedirectsLeaveCredentialsBehindAndEnd) {
  HttpServer other(
      [](HttpConnection& connection) {
        if (!connection.read_request()) return;
        connection.respond("200 OK", "",
                           connection.method() + " " + connection.header("authorization") +
                               connection.header("cookie") + connection.header("x-own") + " " +
                               connection.body);
      },
      "127.0.0.2");
  serve([&](HttpConnection& connection) {
    if (!connection.read_request()) return;
    if (connection.target() == "/") {
      connection.respond("307 Temporary Redirect", "Location: two?x\r\n", "moved");
    } else if (connection.target() == "/two?x" && connection.header("authorization") == "secret" &&
               connection.body == "text") {
      connection.respond("308 Permanent Redirect",
                         "Location: http://127.0.0.2:" + other.text_of_port() + "/\r\n", "");
    } else {
      connection.respond("302 Found", "Location: " + connection.target() + "\r\n", "");
    }
  });
  HttpRequest made = request("POST", "text");
  made.hop.headers = {{"authorization", "secret"}, {"cookie", "crumb"}, {"x-own", "own"}};
  made.grants.push_back(grants({"127.0.0.2:" + other.text_of_port()})[0]);
  EXPECT_EQ(client.fetch(std::move(made)).body, "POST own text");
  HttpRequest loop = request();
  loop.hop.url.target = "/loop";
  expect_error(client.fetch(std::move(loop)), ErrorCode::QuotaExceeded, "http.redirect_count_max");
}

TEST_F(CurlClientTest, ANameIsTriedAtEachOfItsAddresses) {
  serve(echo);
  // The first address refuses connections.
  TestClient named([](const std::string& name) {
    if (name != "two.example") {
      return Result<std::vector<IpAddress>>(Error(ErrorCode::NotFound, "no name " + name));
    }
    return Result<std::vector<IpAddress>>(
        std::vector<IpAddress>{address("127.0.0.3"), address("127.0.0.1")});
  });
  const std::string port = server->text_of_port();
  const std::vector<HttpGrant> both = grants({"two.example:" + port, "no.example:" + port});
  EXPECT_EQ(named.fetch(get_request("http://two.example:" + port + "/", both)).head.status, 200);
  expect_error(named.fetch(get_request("http://no.example:" + port + "/", both)),
               ErrorCode::NotFound, "no name no.example");
  TestClient nothing(
      [](const std::string&) { return Result<std::vector<IpAddress>>(std::vector<IpAddress>()); });
  expect_error(nothing.fetch(get_request("http://no.example:" + port + "/", both)),
               ErrorCode::NotFound, "has no address");
}

// Blocks the lookups of some names until it is opened.
class Gate {
 public:
  void wait() {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return is_open_; });
  }
  // For a few seconds at most, until so many wait or have waited.
  void wait_for_waiting(int count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(10), [&] { return waiting_ >= count; });
  }
  void open() {
    {
      std::lock_guard lock(mutex_);
      is_open_ = true;
    }
    changed_.notify_all();
  }
  int waiting() {
    std::lock_guard lock(mutex_);
    return waiting_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_open_ = false;
  int waiting_ = 0;
};

TEST_F(CurlClientTest, ASlowNameDelaysNobodyAndIsGivenUpInTime) {
  serve(echo);
  const auto gate = std::make_shared<Gate>();
  auto slow = std::make_unique<TestClient>([gate](const std::string& name) {
    if (name == "slow.example") gate->wait();
    return Result<std::vector<IpAddress>>(std::vector<IpAddress>{address("127.0.0.1")});
  });
  const std::string port = server->text_of_port();
  const std::vector<HttpGrant> both = grants({"slow.example:" + port, "quick.example:" + port});
  HttpRequest waits = get_request("http://slow.example:" + port + "/", both);
  const ExchangeId id = slow->client.start(std::move(waits)).value();
  slow->wait_until([&] { return gate->waiting() == 1; });
  for (int i = 0; i < 3; ++i) {
    const ExchangeId quick =
        slow->client.start(get_request("http://quick.example:" + port + "/", both)).value();
    EXPECT_EQ(slow->next().head.status, 200);
    slow->client.close(quick);
  }
  slow->client.close(id);
  slow->expect_nothing_left();
  HttpRequest late = get_request("http://slow.example:" + port + "/", both);
  late.limits.connect_ns_max = 50 * kMillisecond;
  expect_error(slow->fetch(std::move(late)), ErrorCode::Timeout, "http.connect_ns_max");
  // A lookup that is never answered does not hold up the end of the client either.
  slow.reset();
  gate->open();
}

// A program whose names are never answered, and that gives each up and asks for the next.
TEST_F(CurlClientTest, NobodyKeepsTheNamesOfOthersFromBeingLookedUp) {
  serve(echo);
  const auto gate = std::make_shared<Gate>();
  TestClient named([gate](const std::string& name) {
    if (name == "slow.example") gate->wait();
    return Result<std::vector<IpAddress>>(std::vector<IpAddress>{address("127.0.0.1")});
  });
  const std::string port = server->text_of_port();
  const auto made = [&](const std::string& name, std::uint64_t instance) {
    HttpRequest out = get_request("http://" + name + ":" + port + "/", grants({name + ":" + port}));
    out.owner.instance = instance;
    return out;
  };
  for (int i = 0; i < 100; ++i) {
    const ExchangeId id = named.client.start(made("slow.example", 1)).value();
    if (i == 0) gate->wait_for_waiting(1);  // A lookup is under way before it is given up.
    if (i < 10) named.wakeup.wait_for(std::chrono::milliseconds(2));
    named.client.close(id);
  }
  EXPECT_EQ(named.fetch(made("quick.example", 2)).head.status, 200);
  EXPECT_LE(gate->waiting(), static_cast<int>(LookupPool::kThreadsPerOwnerMax));
  EXPECT_GE(gate->waiting(), 1);
  // The one who asked so much waits for itself.
  HttpRequest own = made("quick.example", 1);
  own.limits.connect_ns_max = 50 * kMillisecond;
  const bool is_stuck = gate->waiting() == static_cast<int>(LookupPool::kThreadsPerOwnerMax);
  EXPECT_EQ(named.fetch(std::move(own)).error.has_value(), is_stuck);
  gate->open();
  EXPECT_EQ(named.fetch(made("quick.example", 1)).head.status, 200);
}

TEST_F(CurlClientTest, ClosingInAnyStateLeavesNothingBehind) {
  const auto gate = std::make_shared<Gate>();
  TestClient named([gate](const std::string&) {
    gate->wait();
    return Result<std::vector<IpAddress>>(std::vector<IpAddress>{address("127.0.0.1")});
  });
  serve([](HttpConnection& connection) {
    if (!connection.read_head()) return;
    if (connection.target() == "/silent") return connection.wait_for_end();
    if (connection.target() == "/echo") {
      if (connection.read_body()) connection.respond("200 OK", "", "done");
      return;
    }
    connection.send("HTTP/1.1 200 OK\r\n\r\n");
    const std::string piece(65536, 'x');
    while (connection.target() == "/endless" && connection.send(piece)) {
    }
    connection.wait_for_end();
  });
  const std::string port = server->text_of_port();
  const auto made = [&](const std::string& target, bool uploads = false) {
    HttpRequest out = uploads ? streamed("PUT") : streamed();
    out.hop.url.target = target;
    out.hop.has_body = out.is_body_streamed = uploads;
    return out;
  };
  HttpRequest first = request("PUT", "x");  // What is made once is made.
  first.hop.url.target = "/echo";
  EXPECT_EQ(client.fetch(std::move(first)).head.status, 200);
  const std::size_t descriptors = descriptor_count();
  CurlHttpClient& curl = client.client;
  for (int round = 0; round < 20; ++round) {
    // At once: before the net thread has heard of it.
    curl.close(curl.start(made("/silent")).value());
    // While it waits for the first byte.
    ExchangeId id = curl.start(made("/silent")).value();
    const std::uint64_t accepted = server->connection_count();
    client.wait_until([&] { return round % 2 == 0 || server->connection_count() >= accepted; });
    curl.read(id);
    curl.close(id);
    // One head is never taken, and one is.
    curl.close(curl.start(made("/head")).value());
    id = curl.start(made("/head")).value();
    EXPECT_EQ(client.next().kind, HttpEventKind::Head);
    curl.read(id);
    curl.close(id);
    // The transfer is paused because the test does not read.
    id = curl.start(made("/endless")).value();
    EXPECT_EQ(client.next().kind, HttpEventKind::Head);
    curl.read(id);
    EXPECT_FALSE(client.next().body.empty());
    curl.close(id);
    // Before, in and after its upload.
    for (int writes = 0; writes < 3; ++writes) {
      id = curl.start(made("/echo", true)).value();
      for (int i = 0; i < writes; ++i) {
        curl.write(id, std::string(100'000, 'u'));
        if (i + 1 < writes) {
          EXPECT_EQ(client.next().kind, HttpEventKind::Sent);
        }
      }
      curl.close(id);
    }
    // When all is over.
    id = curl.start(made("/echo", true)).value();
    curl.finish(id);
    EXPECT_EQ(client.next().head.status, 200);
    EXPECT_EQ(read_all(id), "done");
    curl.close(id);
    client.expect_nothing_left();
  }
  // While its name is looked up.
  HttpRequest unnamed =
      get_request("http://a.example:" + port + "/", grants({"a.example:" + port}));
  const ExchangeId looking = named.client.start(std::move(unnamed)).value();
  named.wait_until([&] { return gate->waiting() == 1; });
  named.client.close(looking);
  named.expect_nothing_left();
  gate->open();
  client.wait_until([&] { return descriptor_count() <= descriptors + 3; });  // `named` has 3.
}

TEST_F(CurlClientTest, SlotsAreCountedAndComeFree) {
  serve([](HttpConnection& connection) {
    if (connection.read_request()) connection.wait_for_end();
  });
  std::vector<ExchangeId> open;
  for (std::size_t i = 0; i < kExchangeCountMax; ++i) {
    open.push_back(client.client.start(request()).value());
  }
  const Result<ExchangeId> refused = client.client.start(request());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::Unavailable);
  EXPECT_NE(refused.error().message().find("all 256"), std::string_view::npos);
  client.client.close(open.back());
  client.wait_until([&] { return client.client.live_count() < kExchangeCountMax; });
  open.back() = client.client.start(request()).value();
  for (const ExchangeId each : open) client.client.close(each);
  client.expect_nothing_left();
  // And a client may end with all of them under way.
  auto brief = std::make_unique<TestClient>();
  for (std::size_t i = 0; i < 20; ++i) (void)brief->client.start(request()).value();
  brief.reset();
}

// A self-signed certificate for 127.0.0.1, and a server that has it.
class TlsServer {
 public:
  TlsServer() : key_(EVP_RSA_gen(2048)), certificate_(X509_new()) {
    X509_set_version(certificate_.get(), 2);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate_.get()), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate_.get()), -3600);
    X509_gmtime_adj(X509_getm_notAfter(certificate_.get()), 3600);
    X509_set_pubkey(certificate_.get(), key_.get());
    X509_NAME* name = X509_get_subject_name(certificate_.get());
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>("quire test"), -1, -1, 0);
    X509_set_issuer_name(certificate_.get(), name);
    X509_EXTENSION* names = X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name,
                                                "IP:127.0.0.1,DNS:right.example");
    X509_add_ext(certificate_.get(), names, -1);
    X509_EXTENSION_free(names);
    X509_sign(certificate_.get(), key_.get(), EVP_sha256());
    context_.reset(SSL_CTX_new(TLS_server_method()));
    SSL_CTX_use_certificate(context_.get(), certificate_.get());
    SSL_CTX_use_PrivateKey(context_.get(), key_.get());
  }
  std::string certificate() const {
    const std::unique_ptr<BIO, decltype(&BIO_free)> memory(BIO_new(BIO_s_mem()), BIO_free);
    PEM_write_bio_X509(memory.get(), certificate_.get());
    char* bytes = nullptr;
    const long count = BIO_get_mem_data(memory.get(), &bytes);
    return std::string(bytes, static_cast<std::size_t>(count));
  }
  void serve(HttpConnection& connection) {
    const std::unique_ptr<SSL, decltype(&SSL_free)> tls(SSL_new(context_.get()), SSL_free);
    SSL_set_fd(tls.get(), connection.socket());
    if (SSL_accept(tls.get()) != 1) return;
    std::string head;
    char part[4096];
    while (head.find("\r\n\r\n") == std::string::npos) {
      const int count = SSL_read(tls.get(), part, sizeof part);
      if (count <= 0) return;
      head.append(part, static_cast<std::size_t>(count));
    }
    constexpr std::string_view kAnswer = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecret";
    SSL_write(tls.get(), kAnswer.data(), kAnswer.size());
    SSL_shutdown(tls.get());
  }

 private:
  template <auto kRelease>
  struct Releaser {
    template <typename T>
    void operator()(T* handle) const {
      kRelease(handle);
    }
  };
  std::unique_ptr<EVP_PKEY, Releaser<EVP_PKEY_free>> key_;
  std::unique_ptr<X509, Releaser<X509_free>> certificate_;
  std::unique_ptr<SSL_CTX, Releaser<SSL_CTX_free>> context_;
};

TEST_F(CurlClientTest, TlsNeedsACertificateThatIsTrustedAndNamesTheHost) {
  // The server here writes to clients that left; OpenSSL cannot suppress the signal.
  signal(SIGPIPE, SIG_IGN);
  TlsServer tls;
  serve([&](HttpConnection& connection) { tls.serve(connection); });
  const test::TemporaryFolder folder;
  const std::string port = server->text_of_port();
  const auto names = [](const std::string&) {
    return Result<std::vector<IpAddress>>(std::vector<IpAddress>{address("127.0.0.1")});
  };
  const auto made = [&](const std::string& host) {
    return get_request("https://" + host + ":" + port + "/", grants({host + ":" + port}));
  };
  expect_error(client.fetch(made("127.0.0.1")), ErrorCode::Io, "certificate");
  TestClient trusting(names, classify, folder.write("ca.pem", tls.certificate()));
  for (const char* host : {"127.0.0.1", "right.example"}) {
    const HttpEvent event = trusting.fetch(made(host));
    EXPECT_FALSE(event.error) << event.error->message();
    EXPECT_EQ(event.body, "secret");
  }
  expect_error(trusting.fetch(made("wrong.example")), ErrorCode::Io, "wrong.example");
  serve([](HttpConnection& connection) { connection.send("HTTP/1.1 400 No TLS here\r\n\r\n"); });
  expect_error(trusting.fetch(get_request("https://127.0.0.1:" + server->text_of_port() + "/",
                                          grants({"127.0.0.1:" + server->text_of_port()}))),
               ErrorCode::Io, "");
}

TEST(SystemResolver, KnowsThisMachineAndSaysWhatItDoesNotKnow) {
  SystemResolver resolver;
  const Result<std::vector<IpAddress>> local = resolver.resolve("localhost");
  ASSERT_TRUE(local.ok()) << local.error().message();
  ASSERT_FALSE(local.value().empty());
  for (const IpAddress& each : local.value()) EXPECT_STREQ(classify(each).name, "loopback");
  EXPECT_FALSE(resolver.resolve("no-such-name.invalid").ok());
}

}  // namespace
}  // namespace quire::net
