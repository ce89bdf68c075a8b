#pragma once
// HttpRouter decides what becomes of an HTTP request: a WebSocket, the work of an endpoint's
// program, an answer, or a refusal.
//
// A server without keys takes each client that reaches the port for its operator, so a web page
// must not reach it. The router refuses a request that names another host (DNS rebinding). It also
// refuses one of another origin, unless the operator allowed that (--allow-origin). Without keys no
// origin but the server's own gets a WebSocket. With keys, each request needs one, except a
// preflight and those of kHealthPaths.
//
// A page elsewhere can also send a GET without an Origin, as for an image. A browser says so in
// Sec-Fetch-Site, and the router refuses it. The user may still follow a link to /.
//
// A probe may know the server by another address, so kHealthPaths need no Host and take any.
//
// Thread   any; nothing changes.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "application/server/caller_gate.h"
#include "application/server/endpoint_table.h"
#include "base/result.h"
#include "wire/endpoint.h"

namespace quire::server {

using wire::Endpoint;

// Checks a value of --allow-origin: "https://example.com", or "*" for all. InvalidArgument.
Result<void> check_origin(const std::string& origin);

// Whether only this machine reaches it.
bool is_loopback(const Endpoint& endpoint);
// PermissionDenied for what other machines can reach, if there are no keys.
Result<void> check_exposure(const Endpoint& endpoint, bool has_keys);
// Checks a value of --allow-host: a name or an address without a port. InvalidArgument.
Result<void> check_host_name(const std::string& host);

// The head of a request, as far as it matters here.
struct HttpHead {
  std::string method;
  std::string target;                // Without the scheme and authority of the absolute form.
  std::vector<std::string> hosts;    // Of each Host header.
  std::vector<std::string> origins;  // Of each Origin header.
  bool is_upgrade = false;           // To a WebSocket.
  std::vector<std::string> subprotocols;
  std::string lines = {};          // For the program: "name: value\n", names in lower case.
  std::string request_id = {};     // As the client gave it; empty: it gave none.
  std::string expectation = {};    // Of the Expect header, in lower case.
  std::string asked_method = {};   // Of a browser that asks what it may send (CORS),
  std::string asked_headers = {};  // with which headers.
  std::optional<std::uint64_t> content_bytes = {};
  std::vector<std::string> codings = {};  // Of each Content-Encoding header.
  bool has_body = false;
  bool keeps_alive = true;
  bool is_http_1_0 = false;
  Credentials credentials = {};
  // "localhost:80" of the target "http://localhost:80/x" (absolute form); empty: the target is a path alone.
  std::string authority = {};
  std::uint16_t default_port = 80;  // Of the scheme in front of the authority.
  // What a browser says of a request that has no Origin: a page of another site asked for it (Sec-Fetch-Site),
  bool is_cross_site = false;
  bool is_navigation = false;  // and the user follows a link (Sec-Fetch-Mode).
};

// The target without its query.
std::string_view path_of(const HttpHead& head);

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

struct HttpAnswer {
  std::uint32_t status = 0;
  std::string body;
  HttpHeaders headers = {};
  const char* content_type = "application/json";
};
struct Upgrade {  // With the subprotocol wire::kSubprotocol.
  service::PrincipalHandle caller;
};
struct ToEndpoint {
  const EndpointRule* rule = nullptr;  // Of the router's table.
  service::PrincipalHandle caller;
};

// POST /v1/load_lora_adapter and /v1/unload_lora_adapter, which the server itself answers
// (adapter_forms.h).
enum class AdapterForm : std::uint8_t { Load, Unload };
struct ToAdapters {
  AdapterForm form{};
  service::PrincipalHandle caller;
};

struct ToMetrics {};  // The engine knows the figures.

using Route = std::variant<Upgrade, HttpAnswer, ToEndpoint, ToAdapters, ToMetrics>;

struct Decision {
  Route route;
  service::PrincipalHandle key_holder = {};    // Null: the request has shown no known key.
  std::optional<RefusedKey> refused_key = {};  // It has shown one that was refused.
};

// A server answers for its health at these paths.
inline constexpr std::size_t kHealthPathCount = 3;
inline constexpr std::string_view kHealthPaths[kHealthPathCount] = {"/health", "/health/live",
                                                                    "/health/ready"};

// Whether a server can take work at a moment. Stalled: its engine stands.
enum class Readiness : std::uint8_t { Ready, Loading, Full, ShuttingDown, Stalled };

// AccessRules say which clients the server accepts.
struct AccessRules {
  const access::KeyHolder* keys = nullptr;      // Null: none are needed. Outlives the router.
  std::vector<std::string> allowed_hosts = {};  // That a Host header may name.
  bool has_tls = false;
};

class HttpRouter {
 public:
  explicit HttpRouter(Endpoint listens, EndpointTable endpoints = {},
                      std::vector<std::string> allowed_origins = {}, AccessRules access = {})
      : listens_(std::move(listens)),
        endpoints_(std::move(endpoints)),
        allowed_origins_(std::move(allowed_origins)),
        allowed_hosts_(std::move(access.allowed_hosts)),
        has_tls_(access.has_tls),
        gate_(access.keys) {}

  // A server that loads its model or shuts down refuses all but questions about itself. A full one
  // takes requests, because a place may be free when the request gets to the engine.
  Decision decide(const HttpHead& head, Readiness readiness) const;
  bool has_keys() const { return gate_.has_keys(); }
  // Additional headers of the response to a page of an allowed origin; empty for any other page.
  HttpHeaders origin_headers(const HttpHead& head) const;
  static HttpAnswer refusal(std::uint32_t status, ErrorCode code, const std::string& message,
                            std::optional<std::uint64_t> retry_after_ms = std::nullopt);

 private:
  bool is_own_host(std::string_view host) const;
  bool is_allowed_origin(std::string_view origin) const;
  std::optional<HttpAnswer> check_site(const HttpHead& head) const;
  static std::optional<HttpAnswer> check_host_count(const HttpHead& head);
  // Why the query may not be there: Gemini's clients may put their key in it.
  static std::optional<HttpAnswer> check_query(const HttpHead& head);
  std::optional<HttpAnswer> check_source(const HttpHead& head) const;
  bool is_preflight(const HttpHead& head) const;
  Route decide_upgrade(const HttpHead& head, const service::PrincipalHandle& caller,
                       Readiness readiness) const;
  Route answer_own(const HttpHead& head, Readiness readiness) const;
  HttpAnswer preflight(const HttpHead& head, std::string_view path) const;
  Route decide_for(const HttpHead& head, const service::PrincipalHandle& caller,
                   Readiness readiness) const;
  Route decide_path(const HttpHead& head, const service::PrincipalHandle& caller,
                    Readiness readiness) const;
  static Route decide_adapters(AdapterForm form, const HttpHead& head,
                               const service::PrincipalHandle& caller, Readiness readiness);

  const Endpoint listens_;
  const EndpointTable endpoints_;
  const std::vector<std::string> allowed_origins_;
  const std::vector<std::string> allowed_hosts_;
  const bool has_tls_;
  const CallerGate gate_;
};

}  // namespace quire::server
