#pragma once
// HttpRouter decides what becomes of an HTTP request: a WebSocket, an answer, or a refusal. A server
// without keys takes each client that reaches the port for its operator, so a web page must not reach
// it: a request that names another host (DNS rebinding) or comes from another origin is refused.
//
// Thread   any; nothing changes.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "wire/endpoint.h"

namespace quire::server {

using wire::Endpoint;

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

using Route = std::variant<Upgrade, HttpAnswer>;

class HttpRouter {
 public:
  explicit HttpRouter(Endpoint listens) : listens_(std::move(listens)) {}

  Route decide(const HttpHead& head, bool is_shutting_down) const;
  static HttpAnswer refusal(std::uint32_t status, ErrorCode code, const std::string& message,
                            std::optional<std::uint64_t> retry_after_ms = std::nullopt);

 private:
  bool is_own_host(std::string_view host) const;

  const Endpoint listens_;
};

}  // namespace quire::server
