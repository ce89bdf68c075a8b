#pragma once
// HttpGate decides what becomes of an HTTP request: a WebSocket, an answer, or a refusal. Without
// keys, whoever reaches the port is the operator, so what must not reach it is a web page: one that
// names another host (DNS rebinding) or comes from another origin is refused.
//
// Thread   any; nothing changes.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace quire::server {

// Where a server listens, or a client connects to.
struct Endpoint {
  std::string host;  // A name or an address; IPv6 without brackets.
  std::uint16_t port = 0;
};
// "HOST:PORT"; IPv6 in brackets. InvalidArgument says what is wrong.
Result<Endpoint> parse_endpoint(std::string_view text);
// "ws://HOST:PORT", with an optional "/" behind it.
Result<Endpoint> parse_server_url(std::string_view url);
std::string server_url(const Endpoint& endpoint);

// PermissionDenied for what others can reach: without keys nobody but this machine's users may.
Result<void> check_loopback(const Endpoint& endpoint);

// The head of a request, as far as it matters here.
struct HttpHead {
  std::string method;
  std::string target;
  std::vector<std::string> hosts;    // Of each Host header.
  std::vector<std::string> origins;  // Of each Origin header.
  bool is_upgrade = false;           // To a WebSocket.
  std::vector<std::string> subprotocols;
};

struct HttpAnswer {
  std::uint32_t status = 0;
  std::string body;  // JSON.
  std::vector<std::pair<std::string, std::string>> headers = {};
};
struct Upgrade {};  // With the subprotocol wire::kSubprotocol.

class HttpGate {
 public:
  explicit HttpGate(Endpoint listens) : listens_(std::move(listens)) {}

  std::variant<Upgrade, HttpAnswer> decide(const HttpHead& head, bool is_shutting_down) const;
  static HttpAnswer refusal(std::uint32_t status, ErrorCode code, const std::string& message,
                            std::optional<std::uint64_t> retry_after_ms = std::nullopt);

 private:
  bool is_own_host(std::string_view host) const;

  const Endpoint listens_;
};

}  // namespace quire::server
