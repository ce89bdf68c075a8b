#include "simulation/servers.h"

#include "base/clock.h"

namespace quire::simulation {
namespace {

constexpr std::uint64_t kHour = 3'600'000 * kMillisecond;

std::string long_text() {
  std::string text;
  while (text.size() < 6'000) text += std::to_string(text.size()) + " ";
  return text;
}

}  // namespace

const std::vector<FakeServer>& fake_servers() {
  static const std::vector<FakeServer> all = {
      {.url = "http://quick.example/",
       .response = {.after_ns = kMillisecond, .body = {{0, "quick"}}}},
      {.url = "http://pieces.example/",
       .response = {.after_ns = 2 * kMillisecond,
                    .body = {{kMillisecond, long_text()}, {kMillisecond, "and "}, {0, "more"}}}},
      {.url = "http://slow.example/",
       .response = {.after_ns = 2'000 * kMillisecond, .body = {{1'000 * kMillisecond, "slow"}}}},
      {.url = "http://empty.example/", .response = {.after_ns = kMillisecond}},
      // The request is dropped,
      {.url = "http://silent.example/",
       .response = {.after_ns = kHour},
       .error = ErrorCode::Timeout},
      // or the answer is, on its way,
      {.url = "http://stuck.example/",
       .response = {.after_ns = kMillisecond, .body = {{0, "half"}, {kHour, "never"}}},
       .error = ErrorCode::Timeout},
      // or the connection breaks after it.
      {.url = "http://broken.example/",
       .response = {.after_ns = kMillisecond,
                    .body = {{kMillisecond, "half"}},
                    .failure = "the peer is gone"},
       .error = ErrorCode::Io},
  };
  return all;
}

std::string body_of(const FakeServer& server) {
  std::string body;
  for (const net::FakeResponse::Piece& each : server.response.body) body += each.bytes;
  return body;
}

void add_servers(net::FakeHttpClient& http) {
  for (const FakeServer& each : fake_servers()) {
    std::string url = each.url;
    url.insert(url.size() - 1, ":80");
    http.respond(url, each.response);
  }
}

void check_posts(const Town& town, const net::FakeHttpClient& http, Findings& findings) {
  std::set<std::string> arrived;
  for (const net::FakeHttpClient::Sent& each : http.sent()) {
    if (!each.hop.has_body) continue;
    const std::string whose = each.body.substr(0, each.body.find(' '));
    if (!town.posted.contains(each.body)) findings.add("a server had half of the body " + whose);
    if (!arrived.insert(each.body).second) findings.add("a server had twice the body " + whose);
  }
  for (const std::string& each : town.answered) {
    if (arrived.contains(each)) continue;
    findings.add("answered, but never sent: the body " + each.substr(0, each.find(' ')));
  }
}

}  // namespace quire::simulation
