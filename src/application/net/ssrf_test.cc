// No request of a program, and no redirect of a server, leads to a connection that was not granted.
// The client is the real one, over real sockets; a listener on every local address counts.
#include <quire_paths.h>

#include <fstream>
#include <map>
#include <mutex>
#include <sstream>

#include "application/net/curl_test_support.h"

namespace quire::net {
namespace {

using test::HttpConnection;
using test::HttpServer;

struct Case {
  std::string url;
  std::vector<IpAddress> addresses;
  std::string code;
  std::string word;
  bool is_location_only = false;
};

std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(' ');
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

std::vector<Case> read_cases(const std::string& port) {
  std::ifstream file(QUIRE_SOURCE_DIR "/src/application/net/ssrf_urls.txt");
  std::vector<Case> cases;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::vector<std::string> fields;
    std::istringstream parts(line);
    for (std::string part; std::getline(parts, part, '|');) fields.push_back(trimmed(part));
    EXPECT_EQ(fields.size(), 4u) << line;
    if (fields.size() != 4) continue;
    Case each;
    each.is_location_only = fields[0].starts_with("> ");
    each.url = trimmed(fields[0].substr(each.is_location_only ? 1 : 0));
    if (const std::size_t at = each.url.find("PORT"); at != std::string::npos) {
      each.url.replace(at, 4, port);
    }
    std::istringstream names(fields[1]);
    for (std::string name; names >> name && name != "-";) each.addresses.push_back(address(name));
    each.code = fields[2];
    each.word = fields[3];
    cases.push_back(std::move(each));
  }
  return cases;
}

class Ssrf : public testing::Test {
 protected:
  Ssrf()
      : listener(
            [](HttpConnection& connection) {
              if (connection.read_request()) connection.respond("200 OK", "", "reached");
            },
            "::"),
        ipv4_listener(
            [](HttpConnection& connection) {
              if (connection.read_request()) connection.respond("200 OK", "", "reached");
            },
            "0.0.0.0") {}

  // A listener of either family if the machine has both.
  HttpServer& target() { return listener.is_open() ? listener : ipv4_listener; }

  HttpServer listener;
  HttpServer ipv4_listener;
};

TEST_F(Ssrf, NoUrlFormReachesTheListener) {
  const std::vector<Case> cases = read_cases(target().text_of_port());
  ASSERT_GE(cases.size(), 120u);
  std::vector<IpAddress> addresses;
  std::mutex mutex;
  TestClient client([&](const std::string&) {
    std::lock_guard lock(mutex);
    return Result<std::vector<IpAddress>>(addresses);
  });
  for (const Case& each : cases) {
    if (each.is_location_only) continue;
    SCOPED_TRACE(each.url);
    const std::uint64_t lookups = client.resolver->count;
    Result<Url> url = parse_url(each.url);
    if (!url.ok()) {
      EXPECT_EQ(error_code_name(url.error().code()), each.code) << url.error().message();
      EXPECT_NE(url.error().message().find(each.word), std::string_view::npos)
          << url.error().message();
    } else {
      {
        std::lock_guard lock(mutex);
        addresses = each.addresses;
      }
      HttpRequest request;
      request.hop = {"GET", url.value(), {}, false};
      request.grants = grants({"*:*"});
      const HttpEvent event = client.fetch(std::move(request));
      ASSERT_TRUE(event.error);
      EXPECT_EQ(error_code_name(event.error->code()), each.code) << event.error->message();
      EXPECT_NE(event.error->message().find(each.word), std::string_view::npos)
          << event.error->message();
    }
    EXPECT_EQ(client.resolver->count - lookups, each.addresses.empty() ? 0u : 1u);
  }
  EXPECT_EQ(target().connection_count(), 0u);
}

TEST_F(Ssrf, NoRedirectReachesTheListener) {
  std::string location;
  std::vector<IpAddress> addresses;
  std::mutex mutex;
  HttpServer redirects(
      [&](HttpConnection& connection) {
        if (!connection.read_request()) return;
        std::lock_guard lock(mutex);
        connection.respond("302 Found", "Location: " + location + "\r\n", "");
      },
      "127.0.0.2");
  TestClient client(
      [&](const std::string&) {
        std::lock_guard lock(mutex);
        return Result<std::vector<IpAddress>>(addresses);
      },
      second_loopback_is_public);
  std::uint64_t asked = 0;
  for (const Case& each : read_cases(target().text_of_port())) {
    SCOPED_TRACE(each.url);
    if (each.url.starts_with("http://127.0.0.2:")) continue;  // Public here.
    {
      std::lock_guard lock(mutex);
      location = each.url;
      addresses = each.addresses;
    }
    const HttpEvent event = client.fetch(
        get_request("http://127.0.0.2:" + redirects.text_of_port() + "/path", grants({"*:*"})));
    ++asked;
    ASSERT_TRUE(event.error) << "status " << event.head.status;
    EXPECT_EQ(error_code_name(event.error->code()), each.code) << event.error->message();
    EXPECT_NE(event.error->message().find(each.word), std::string_view::npos)
        << event.error->message();
  }
  EXPECT_EQ(redirects.connection_count(), asked);
  EXPECT_EQ(target().connection_count(), 0u);
}

TEST_F(Ssrf, AGrantOfTheAddressOrTheNameWithItsPortReachesTheListener) {
  const std::string port = target().text_of_port();
  TestClient client([](const std::string&) {
    return Result<std::vector<IpAddress>>(std::vector<IpAddress>{address("127.0.0.1")});
  });
  std::uint64_t reached = 0;
  for (const std::string& host : {std::string("127.0.0.1"), std::string("localhost")}) {
    const std::string url = "http://" + host + ":" + port + "/";
    const HttpEvent event = client.fetch(get_request(url, grants({host + ":" + port})));
    ASSERT_FALSE(event.error) << event.error->message();
    EXPECT_EQ(event.body, "reached");
    EXPECT_EQ(target().connection_count(), ++reached);
    // The same host at another port, another name of the same address, and hosts by a pattern.
    const std::string other = host == "localhost" ? "127.0.0.1" : "localhost";
    for (const std::string& grant :
         {host + ":1", other + ":" + port, std::string("*:") + port, host + ":*", host}) {
      SCOPED_TRACE(grant);
      expect_error(client.fetch(get_request(url, grants({grant}))), ErrorCode::PermissionDenied,
                   "--allow-http " + host + ":" + port);
    }
  }
  EXPECT_EQ(target().connection_count(), reached);
}

TEST_F(Ssrf, ARedirectOnlyReachesAnInnerHostThatIsGrantedItself) {
  const std::string port = target().text_of_port();
  HttpServer redirects(
      [&](HttpConnection& connection) {
        if (!connection.read_request()) return;
        connection.respond("307 Temporary Redirect", "Location: http://127.0.0.1:" + port + "/\r\n",
                           "");
      },
      "127.0.0.2");
  TestClient client(nullptr, second_loopback_is_public);
  const std::string url = "http://127.0.0.2:" + redirects.text_of_port() + "/";
  expect_error(client.fetch(get_request(url, grants({"*:*"}))), ErrorCode::PermissionDenied,
               "only --allow-http 127.0.0.1:" + port + " opens it");
  expect_error(client.fetch(get_request(url, grants({"127.0.0.2:*"}))), ErrorCode::PermissionDenied,
               "no grant of this program covers 127.0.0.1:" + port);
  EXPECT_EQ(target().connection_count(), 0u);
  const HttpEvent event = client.fetch(get_request(url, grants({"*:*", "127.0.0.1:" + port})));
  ASSERT_FALSE(event.error) << event.error->message();
  EXPECT_EQ(event.body, "reached");
}

// The name is public when it is asked first, and loopback the next time, 10,000 times.
TEST_F(Ssrf, ANameThatChangesItsAnswerNeverReachesTheListener) {
  constexpr std::uint64_t kCount = 10'000;
  constexpr std::size_t kAtOnce = 16;
  // The server that a rebinding would reach: the same port of the other address.
  HttpServer inner([](HttpConnection& connection) { connection.read_request(); });
  HttpServer outer(
      [](HttpConnection& connection) {
        if (connection.read_request()) connection.respond("200 OK", "", "outer");
      },
      "127.0.0.2", inner.port());
  ASSERT_TRUE(outer.is_open());
  std::atomic<std::uint64_t> turn{0};
  TestClient client(
      [&](const std::string&) {
        const bool is_public = turn++ % 2 == 0;
        return Result<std::vector<IpAddress>>(
            std::vector<IpAddress>{address(is_public ? "127.0.0.2" : "127.0.0.1")});
      },
      second_loopback_is_public);
  std::uint64_t begun = 0;
  std::uint64_t answered = 0;
  std::uint64_t refused = 0;
  std::map<std::uint32_t, ExchangeId> open;
  const std::string url = "http://rebind.example:" + outer.text_of_port() + "/";
  const auto begin = [&] {
    HttpRequest request = get_request(url, grants({"*:*"}));
    request.owner.handle = static_cast<std::uint32_t>(++begun);
    open[request.owner.handle] = client.client.start(std::move(request)).value();
  };
  while (answered + refused < kCount) {
    while (begun < kCount && open.size() < kAtOnce) begin();
    const HttpEvent event = client.next();
    if (!event.error) {
      EXPECT_EQ(event.body, "outer");
      ++answered;
    } else {
      EXPECT_EQ(event.error->code(), ErrorCode::PermissionDenied) << event.error->message();
      ++refused;
    }
    client.client.close(open.at(event.owner.handle));
    open.erase(event.owner.handle);
    if (HasFatalFailure()) return;
  }
  EXPECT_EQ(answered, kCount / 2);
  EXPECT_EQ(refused, kCount / 2);
  EXPECT_EQ(outer.connection_count(), kCount / 2);
  EXPECT_EQ(inner.connection_count(), 0u);
  EXPECT_EQ(target().connection_count(), 0u);
  client.expect_nothing_left();
}

TEST_F(Ssrf, EnvironmentVariablesNameNoProxy) {
  HttpServer proxy([](HttpConnection& connection) {
    if (connection.read_request()) connection.respond("200 OK", "", "proxy");
  });
  const std::string at = "http://127.0.0.1:" + proxy.text_of_port();
  for (const char* name : {"http_proxy", "https_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"}) {
    setenv(name, at.c_str(), 1);
  }
  TestClient client(nullptr, second_loopback_is_public);
  HttpServer server(
      [](HttpConnection& connection) {
        if (connection.read_request()) connection.respond("200 OK", "", "direct");
      },
      "127.0.0.2");
  const HttpEvent event =
      client.fetch(get_request("http://127.0.0.2:" + server.text_of_port() + "/", grants({"*:*"})));
  for (const char* name : {"http_proxy", "https_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"}) {
    unsetenv(name);
  }
  ASSERT_FALSE(event.error) << event.error->message();
  EXPECT_EQ(event.body, "direct");
  EXPECT_EQ(proxy.connection_count(), 0u);
}

}  // namespace
}  // namespace quire::net
