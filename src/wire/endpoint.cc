#include "wire/endpoint.h"

#include <charconv>

#include "base/utf8.h"

namespace quire::wire {

Result<Endpoint> parse_endpoint(std::string_view text) {
  const auto wrong = [&](const char* how) {
    return Error(ErrorCode::InvalidArgument, in_quotes(text) + " " + how);
  };
  const std::size_t colon = text.rfind(':');
  const bool is_in_brackets = text.ends_with(']');
  if (colon == std::string_view::npos || is_in_brackets) return wrong("has no port: HOST:PORT");
  std::string_view host = text.substr(0, colon);
  const std::string_view port_text = text.substr(colon + 1);
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return wrong("holds an IPv6 address, which goes into brackets: [::1]:8080");
  }
  if (host.empty()) return wrong("has no host: HOST:PORT");
  std::uint16_t port = 0;
  const auto parsed = std::from_chars(port_text.data(), port_text.data() + port_text.size(), port);
  if (parsed.ec != std::errc() || parsed.ptr != port_text.data() + port_text.size()) {
    return wrong("has no port of 0 to 65535 after the colon");
  }
  return Endpoint{std::string(host), port};
}

Result<Endpoint> parse_server_url(std::string_view url) {
  constexpr std::string_view kScheme = "ws://";
  constexpr std::string_view kTlsScheme = "wss://";
  const bool has_tls = url.starts_with(kTlsScheme);
  if (!has_tls && !url.starts_with(kScheme)) {
    const std::size_t scheme = url.find("://");
    std::string_view meant = scheme == std::string_view::npos ? url : url.substr(scheme + 3);
    if (meant.ends_with('/')) meant.remove_suffix(1);
    const bool is_address = parse_endpoint(meant).ok();
    const std::string_view wanted = url.starts_with("https://") ? kTlsScheme : kScheme;
    return Error(
        ErrorCode::InvalidArgument,
        in_quotes(url) +
            " is not the address of a server, which is ws://HOST:PORT, or wss://HOST:PORT with "
            "TLS" +
            (is_address ? "; did you mean " + std::string(wanted) + std::string(meant) + "?" : ""));
  }
  std::string_view rest = url.substr(has_tls ? kTlsScheme.size() : kScheme.size());
  if (rest.ends_with('/')) rest.remove_suffix(1);
  Endpoint endpoint = TRY(parse_endpoint(rest));
  if (endpoint.port == 0) {
    return Error(ErrorCode::InvalidArgument, in_quotes(url) + ": port 0 cannot be connected to");
  }
  endpoint.has_tls = has_tls;
  return endpoint;
}

std::string server_url(const Endpoint& endpoint) {
  return (endpoint.has_tls ? "wss://" : "ws://") + host_and_port(endpoint);
}

std::string host_and_port(const Endpoint& endpoint) {
  const bool is_ipv6 = endpoint.host.find(':') != std::string::npos;
  return (is_ipv6 ? "[" + endpoint.host + "]" : endpoint.host) + ":" +
         std::to_string(endpoint.port);
}

}  // namespace quire::wire
