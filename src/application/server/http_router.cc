#include "application/server/http_router.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "application/server/error_forms.h"
#include "base/json.h"
#include "base/utf8.h"
#include "wire/frames.h"

namespace quire::server {
namespace {

constexpr const char* kIsLoading = "the server is loading its model";
constexpr const char* kIsShuttingDown = "the server is shutting down";
constexpr std::uint64_t kRetryMs = 1'000;

// A host in lower case and the digits of its port, which may be empty; "[::1]:80" is "::1" and "80". The host
// is empty for a text that is not a host.
struct HostAndPort {
  std::string host;
  std::string_view port;
};
HostAndPort split_host(std::string_view text) {
  std::string host;
  std::string_view rest;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return {};
    host = text.substr(1, end - 1);
    rest = text.substr(end + 1);
  } else {
    const std::size_t end = std::min(text.find(':'), text.size());
    host = text.substr(0, end);
    rest = text.substr(end);
  }
  const bool has_port = rest.size() > 1 && rest[0] == ':' &&
                        rest.find_first_not_of("0123456789", 1) == std::string_view::npos;
  if (!rest.empty() && !has_port) return {};
  std::transform(host.begin(), host.end(), host.begin(), [](unsigned char each) {
    return static_cast<char>(each >= 'A' && each <= 'Z' ? each - 'A' + 'a' : each);
  });
  return {std::move(host), has_port ? rest.substr(1) : std::string_view()};
}

std::string host_of(std::string_view text) {
  return split_host(text).host;
}

// Whether both name one host and port: a port that is not written is the scheme's own.
bool is_same_authority(std::string_view left, std::string_view right, std::uint16_t default_port) {
  const HostAndPort one = split_host(left);
  const HostAndPort other = split_host(right);
  const auto number_of = [default_port](std::string_view digits) {
    digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
    return digits.empty() ? std::to_string(default_port) : std::string(digits);
  };
  return !one.host.empty() && one.host == other.host &&
         number_of(one.port) == number_of(other.port);
}

// The host that the request is for. check_source() has found that there is one.
const std::string& named_host(const HttpHead& head) {
  return head.authority.empty() ? head.hosts.front() : head.authority;
}

// 127.0.0.0/8, written as four plain numbers.
bool is_loopback_ipv4(std::string_view host) {
  int parts = 0;
  while (true) {
    const std::size_t end = std::min(host.find('.'), host.size());
    const std::string_view part = host.substr(0, end);
    unsigned value = 256;
    const auto parsed = std::from_chars(part.data(), part.data() + part.size(), value);
    const bool is_plain = parsed.ec == std::errc() && parsed.ptr == part.data() + part.size() &&
                          value <= 255 && (part.size() == 1 || part[0] != '0');
    if (!is_plain || (parts == 0 && value != 127)) return false;
    ++parts;
    if (end == host.size()) return parts == 4;
    if (parts == 4) return false;
    host.remove_prefix(end + 1);
  }
}

bool is_loopback_host(std::string_view host) {
  return host == "localhost" || host == "::1" || is_loopback_ipv4(host);
}

HttpAnswer json_answer(std::uint32_t status, const nlohmann::ordered_json& json) {
  return {status, dump_json(json) + "\n"};
}

// {"status":"ok"}, or the status with its reason.
HttpAnswer health_answer(Readiness readiness) {
  switch (readiness) {
    case Readiness::Ready:
      return json_answer(200, {{"status", "ok"}});
    case Readiness::Loading:
      return json_answer(503, {{"status", "loading"}, {"reason", kIsLoading}});
    case Readiness::Full:
      return json_answer(503, {{"status", "full"},
                               {"reason",
                                "all places for programs are taken (--instances), and all "
                                "places to wait for one (--launch-queue)"}});
    case Readiness::ShuttingDown:
      return json_answer(503, {{"status", "shutting-down"}, {"reason", kIsShuttingDown}});
    case Readiness::Stalled:
      return json_answer(503, {{"status", "stalled"},
                               {"reason",
                                "the engine has not turned for longer than a program may run "
                                "(cpu_ns_between_waits_max) and ten seconds"}});
  }
  return {};
}

// A load balancer, which has no key, asks at these paths.
bool is_open_path(std::string_view path) {
  return std::ranges::find(kHealthPaths, path) != std::end(kHealthPaths);
}

bool is_own_path(std::string_view path) {
  return path == "/" || path == "/metrics" || is_open_path(path);
}

std::optional<AdapterForm> adapter_form_at(std::string_view path) {
  for (const AdapterForm each : {AdapterForm::Load, AdapterForm::Unload}) {
    if (path == kAdapterPaths[static_cast<std::size_t>(each)]) return each;
  }
  return std::nullopt;
}

// A question about the server's health that comes from no web page. The answer needs no key and reveals nothing
// of the server's work, so it does not matter by which name the probe knows the server.
bool is_open_probe(const HttpHead& head) {
  return !head.is_upgrade && head.origins.empty() && !head.is_cross_site &&
         is_open_path(path_of(head));
}

// Why the server takes no work now.
std::optional<HttpAnswer> refusal_when(Readiness readiness) {
  if (readiness == Readiness::Loading) {
    return HttpRouter::refusal(503, ErrorCode::Unavailable, kIsLoading, kRetryMs);
  }
  if (readiness == Readiness::ShuttingDown) {
    return HttpRouter::refusal(503, ErrorCode::Unavailable, kIsShuttingDown, kRetryMs);
  }
  return std::nullopt;
}

}  // namespace

std::string_view path_of(const HttpHead& head) {
  return std::string_view(head.target).substr(0, head.target.find('?'));
}

Result<void> check_origin(const std::string& origin) {
  const std::size_t scheme = origin.find("://");
  const std::string_view host =
      scheme == std::string::npos ? "" : std::string_view(origin).substr(scheme + 3);
  const bool is_origin =
      !host.empty() && scheme > 0 &&
      std::all_of(
          origin.begin(), origin.end(),
          [](char each) { return each > 0x20 && each < 0x7f && each != '*' && each != ','; }) &&
      host.find_first_of("/?#@") == std::string_view::npos;
  if (origin == "*" || is_origin) return {};
  return Error(ErrorCode::InvalidArgument,
               in_quotes(origin) +
                   " is not an origin: a scheme and a host without a path were expected, as in "
                   "https://example.com, or * for all");
}

bool is_loopback(const Endpoint& endpoint) {
  const bool is_ipv6 = endpoint.host.find(':') != std::string::npos;
  return is_loopback_host(host_of(is_ipv6 ? "[" + endpoint.host + "]" : endpoint.host));
}

Result<void> check_exposure(const Endpoint& endpoint, bool has_keys) {
  if (has_keys || is_loopback(endpoint)) return {};
  return Error(ErrorCode::PermissionDenied,
               in_quotes(endpoint.host) +
                   " can be reached from other machines, and without keys each client that "
                   "reaches this server may run programs on it: give --keys FILE (quire keys add "
                   "makes one), or listen on 127.0.0.1");
}

Result<void> check_host_name(const std::string& host) {
  const bool is_ipv6 = host.find(':') != std::string::npos;
  const std::string plain = host_of(is_ipv6 ? "[" + host + "]" : host);
  const bool is_plain = std::all_of(host.begin(), host.end(), [](char each) {
    const bool is_letter = (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z');
    return is_letter || (each >= '0' && each <= '9') || each == '.' || each == '-' || each == '_' ||
           each == ':';
  });
  if (!plain.empty() && is_plain) return {};
  return Error(
      ErrorCode::InvalidArgument,
      in_quotes(host) + " is not a host: a name or an address without a port was expected");
}

HttpAnswer HttpRouter::refusal(std::uint32_t status, ErrorCode code, const std::string& message,
                               std::optional<std::uint64_t> retry_after_ms) {
  nlohmann::ordered_json error = {{"code", error_code_name(code)}, {"message", message}};
  if (retry_after_ms) error["retry_after_ms"] = *retry_after_ms;
  HttpAnswer answer = json_answer(status, {{"error", std::move(error)}});
  if (retry_after_ms) {
    answer.headers.emplace_back("Retry-After", std::to_string((*retry_after_ms + 999) / 1000));
  }
  return answer;
}

// The port is not compared: a tunnel may have another.
bool HttpRouter::is_own_host(std::string_view text) const {
  const std::string host = host_of(text);
  if (host.empty()) return false;
  return is_loopback_host(host) || host == listens_.host ||
         std::any_of(allowed_hosts_.begin(), allowed_hosts_.end(), [&](const std::string& each) {
           return each.size() == host.size() &&
                  std::equal(each.begin(), each.end(), host.begin(), [](char left, char right) {
                    return (left >= 'A' && left <= 'Z' ? left - 'A' + 'a' : left) == right;
                  });
         });
}

bool HttpRouter::is_allowed_origin(std::string_view origin) const {
  return std::any_of(allowed_origins_.begin(), allowed_origins_.end(),
                     [&](const std::string& each) { return each == "*" || each == origin; });
}

// Why it is in doubt for which host the request is.
std::optional<HttpAnswer> HttpRouter::check_host_count(const HttpHead& head) {
  // HTTP/1.0 has no Host; there the authority of the target alone names the host.
  const bool is_named_by_target = head.is_http_1_0 && !head.authority.empty();
  if (head.hosts.size() > 1 ||
      (head.hosts.empty() && !is_named_by_target && !is_open_probe(head))) {
    return refusal(400, ErrorCode::InvalidArgument,
                   std::to_string(head.hosts.size()) + " Host headers; one was expected");
  }
  if (!head.authority.empty() && !head.hosts.empty() &&
      !is_same_authority(head.authority, head.hosts.front(), head.default_port)) {
    return refusal(400, ErrorCode::InvalidArgument,
                   "the target names the host " + in_quotes(head.authority) +
                       " and the Host header names " + in_quotes(head.hosts.front()) +
                       "; they must be the same");
  }
  return std::nullopt;
}

// Why the request does not come from where it may come.
std::optional<HttpAnswer> HttpRouter::check_source(const HttpHead& head) const {
  if (std::optional<HttpAnswer> refused = check_host_count(head)) return refused;
  if (is_open_probe(head)) return std::nullopt;
  const std::string& host = named_host(head);
  if (!is_own_host(host)) {
    return refusal(403, ErrorCode::PermissionDenied,
                   std::string(head.authority.empty() ? "the Host header" : "the target") +
                       " names " + in_quotes(host) +
                       ", which is not this server: use 127.0.0.1 or localhost" +
                       (gate_.has_keys() ? " (quire serve --allow-host NAME allows another)" : ""));
  }
  for (const std::string& origin : head.origins) {
    if (origin == (has_tls_ ? "https://" : "http://") + host) continue;
    const bool is_single = head.origins.size() == 1;
    // A page brings a key by itself, so with keys its origin may also have a WebSocket.
    const bool may_be_other = !head.is_upgrade || gate_.has_keys();
    if (is_single && may_be_other && is_allowed_origin(origin)) continue;
    return refusal(403, ErrorCode::PermissionDenied,
                   "a page of " + in_quotes(origin) + " may not use this server" +
                       (may_be_other ? " (quire serve --allow-origin ORIGIN allows one)" : ""));
  }
  return check_site(head);
}

// Why a page of another site may not have this asked for, if the browser does not name the page's origin.
std::optional<HttpAnswer> HttpRouter::check_site(const HttpHead& head) const {
  if (!head.is_cross_site || !head.origins.empty() || is_allowed_origin("")) return std::nullopt;
  const bool is_link = head.is_navigation && head.method == "GET" && path_of(head) == "/";
  if (is_link && !head.is_upgrade) return std::nullopt;
  return refusal(
      403, ErrorCode::PermissionDenied,
      "a page of another site may not use this server (Sec-Fetch-Site: cross-site without "
      "an Origin)");
}

namespace {

// A name of a query without its escapes: "k%65y" is "key".
std::string plain_name(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    unsigned value = 0;
    const char* const digits = text.data() + at + 1;
    const bool is_escape = text[at] == '%' && at + 2 < text.size() &&
                           std::from_chars(digits, digits + 2, value, 16).ptr == digits + 2;
    out += is_escape ? static_cast<char>(value) : text[at];
    if (is_escape) at += 2;
  }
  return out;
}

}  // namespace

std::optional<HttpAnswer> HttpRouter::check_query(const HttpHead& head) {
  constexpr std::string_view kKeyNames[] = {"key", "access_token", "oauth_token"};
  const std::string_view path = path_of(head);
  // Gemini's clients ask for models where OpenAI's do, too.
  const bool is_of_gemini = interface_at(head.target) == Interface::Gemini ||
                            path == "/v1/models" || path.starts_with("/v1/models/");
  if (!is_of_gemini) return std::nullopt;
  std::string_view rest = std::string_view(head.target).substr(path.size());
  while (!rest.empty()) {
    rest.remove_prefix(1);  // ? or &.
    const std::string_view part = rest.substr(0, rest.find('&'));
    rest.remove_prefix(part.size());
    const std::string name = plain_name(part.substr(0, part.find('=')));
    if (std::find(std::begin(kKeyNames), std::end(kKeyNames), name) == std::end(kKeyNames))
      continue;
    return refusal_for({std::string(path), head.request_id}, 400, ErrorCode::InvalidArgument,
                       name +
                           ": this server takes no key in the query, where proxies and logs "
                           "keep it: send it as the header x-goog-api-key: KEY");
  }
  return std::nullopt;
}

HttpHeaders HttpRouter::origin_headers(const HttpHead& head) const {
  if (head.origins.size() != 1 || !is_allowed_origin(head.origins.front())) return {};
  return {{"Access-Control-Allow-Origin", head.origins.front()},
          {"Vary", "Origin"},
          {"Access-Control-Expose-Headers", "X-Request-Id, Retry-After, X-Quire-Ignored"}};
}

Route HttpRouter::decide_upgrade(const HttpHead& head, const service::PrincipalHandle& caller,
                                 Readiness readiness) const {
  if (head.target != "/") {
    return refusal(404, ErrorCode::NotFound,
                   "no WebSocket at " + in_quotes(std::string(path_of(head))) + ": it is at /");
  }
  if (std::optional<HttpAnswer> refused = refusal_when(readiness)) return *std::move(refused);
  const auto& wanted = head.subprotocols;
  if (std::find(wanted.begin(), wanted.end(), wire::kSubprotocol) == wanted.end()) {
    return refusal(400, ErrorCode::NotSupported,
                   std::string("the client speaks none of this server's versions: it must offer "
                               "the WebSocket subprotocol ") +
                       wire::kSubprotocol);
  }
  return Upgrade{caller};
}

namespace {

constexpr std::size_t kToldEndpointCountMax = 16;  // In the error about a path with nothing at it.
constexpr const char* kPreflightSeconds = "600";

HttpAnswer wrong_method(const HttpHead& head, std::string_view path, const std::string& allowed) {
  HttpAnswer answer =
      refusal_for(name_of(head), 405, ErrorCode::NotSupported,
                  std::string(path) + " takes " + allowed + ", not " + in_quotes(head.method));
  answer.headers.emplace_back("Allow", allowed);
  return answer;
}

}  // namespace

Route HttpRouter::answer_own(const HttpHead& head, Readiness readiness) const {
  const std::string_view path = path_of(head);
  if (head.method != "GET" && head.method != "HEAD") {
    HttpAnswer answer = refusal(405, ErrorCode::NotSupported,
                                std::string(path) + " takes GET, not " + in_quotes(head.method));
    answer.headers.emplace_back("Allow", "GET, HEAD");
    return answer;
  }
  if (path == "/metrics") {
    if (readiness == Readiness::Loading) return *refusal_when(readiness);
    return ToMetrics{};
  }
  if (path == "/health/live") {
    const bool is_stalled = readiness == Readiness::Stalled;
    return health_answer(is_stalled ? Readiness::Stalled : Readiness::Ready);
  }
  if (path == "/health/ready") return health_answer(readiness);
  if (path == "/health") {
    return health_answer(readiness == Readiness::Full ? Readiness::Ready : readiness);
  }
  nlohmann::ordered_json about = {
      {"server", "quire"},
      {"version", QUIRE_VERSION},
      {"websocket", (has_tls_ ? "wss://" : "ws://") + named_host(head) + "/"},
      {"subprotocol", wire::kSubprotocol}};
  if (!endpoints_.rules().empty()) {
    about["endpoints"] = nlohmann::ordered_json::array();
    for (const EndpointRule& each : endpoints_.rules()) about["endpoints"].push_back(each.text());
  }
  return json_answer(200, about);
}

// A browser asks before it sends what a page's form could not.
HttpAnswer HttpRouter::preflight(const HttpHead& head, std::string_view path) const {
  std::string allowed = is_own_path(path)       ? "GET, HEAD"
                        : adapter_form_at(path) ? "POST"
                                                : endpoints_.methods_at(path);
  // A preflight has no key, so it does not hear what is at the path.
  if (gate_.has_keys()) allowed = "GET, HEAD, POST, PUT, PATCH, DELETE";
  HttpAnswer answer{204, "", {{"Access-Control-Allow-Methods", allowed}}};
  if (!head.asked_headers.empty()) {
    answer.headers.emplace_back("Access-Control-Allow-Headers", head.asked_headers);
  }
  answer.headers.emplace_back("Access-Control-Max-Age", kPreflightSeconds);
  return answer;
}

bool HttpRouter::is_preflight(const HttpHead& head) const {
  return head.method == "OPTIONS" && !head.asked_method.empty() && head.origins.size() == 1 &&
         is_allowed_origin(head.origins.front());
}

Route HttpRouter::decide_adapters(AdapterForm form, const HttpHead& head,
                                  const service::PrincipalHandle& caller, Readiness readiness) {
  if (head.method != "POST") return wrong_method(head, path_of(head), "POST");
  if (const auto denied = denied_to(*caller, service::Right::LoadAdapters)) {
    return refusal_for(name_of(head), 403, denied->code(), std::string(denied->message()));
  }
  if (std::optional<HttpAnswer> refused = refusal_when(readiness)) return *std::move(refused);
  return ToAdapters{form, caller};
}

Route HttpRouter::decide_path(const HttpHead& head, const service::PrincipalHandle& caller,
                              Readiness readiness) const {
  const std::string_view path = path_of(head);
  const std::string allowed = endpoints_.methods_at(path);
  const std::optional<AdapterForm> form = adapter_form_at(path);
  const bool is_there = is_own_path(path) || form || !allowed.empty();
  if (is_preflight(head) && is_there) return preflight(head, path);
  if (form) return decide_adapters(*form, head, caller, readiness);
  if (is_own_path(path)) {
    if (path == "/metrics") {
      if (const auto denied = denied_to(*caller, service::Right::Operate)) {
        return refusal(403, denied->code(), std::string(denied->message()));
      }
    }
    return answer_own(head, readiness);
  }
  if (const EndpointRule* rule = endpoints_.find(head.method, path)) {
    if (const auto denied = denied_to(*caller, service::Right::Launch)) {
      return refusal_for(name_of(head), 403, denied->code(), std::string(denied->message()));
    }
    if (std::optional<HttpAnswer> refused = refusal_when(readiness)) return *std::move(refused);
    return ToEndpoint{rule, caller};
  }
  if (!allowed.empty()) return wrong_method(head, path, allowed);
  // Endpoints come with the model.
  if (readiness == Readiness::Loading) return *refusal_when(readiness);
  std::string known =
      "/, /health, /health/live, /health/ready, /metrics, /v1/load_lora_adapter and "
      "/v1/unload_lora_adapter, and a WebSocket at /";
  std::size_t told_count = 0;
  for (const EndpointRule& each : endpoints_.rules()) {
    if (++told_count > kToldEndpointCountMax) {
      known += ", and more";
      break;
    }
    known += (told_count == 1 ? "; endpoints at " : ", ") + each.text();
  }
  return refusal_for(name_of(head), 404, ErrorCode::NotFound,
                     "nothing is at " + in_quotes(std::string(path)) + "; there are " + known);
}

Route HttpRouter::decide_for(const HttpHead& head, const service::PrincipalHandle& caller,
                             Readiness readiness) const {
  if (head.is_upgrade) return decide_upgrade(head, caller, readiness);
  if (!head.expectation.empty() && head.expectation != "100-continue") {
    return refusal(417, ErrorCode::NotSupported,
                   "Expect " + in_quotes(head.expectation) + ": 100-continue is all there is");
  }
  return decide_path(head, caller, readiness);
}

Decision HttpRouter::decide(const HttpHead& head, Readiness readiness) const {
  if (std::optional<HttpAnswer> refused = check_source(head)) return {*std::move(refused)};
  if (std::optional<HttpAnswer> refused = check_query(head)) return {*std::move(refused)};
  if (gate_.has_keys() && !head.is_upgrade) {
    // Neither has a key: a browser sends none with a preflight.
    if (is_preflight(head)) return {preflight(head, path_of(head))};
    if (is_open_path(path_of(head))) return {answer_own(head, readiness)};
  }
  auto found = gate_.caller_of(head);
  if (const auto* stranger = std::get_if<Stranger>(&found)) {
    return {CallerGate::refusal(head), nullptr, stranger->refused};
  }
  const auto caller = std::get<service::PrincipalHandle>(std::move(found));
  return {decide_for(head, caller, readiness), gate_.has_keys() ? caller : nullptr};
}

}  // namespace quire::server
