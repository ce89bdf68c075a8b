#pragma once
// An Endpoint is the address at which a server listens, or to which a client connects.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace quire::wire {

struct Endpoint {
  std::string host;  // A name or an address; IPv6 without brackets.
  std::uint16_t port = 0;
  bool has_tls = false;
};
// "HOST:PORT"; IPv6 in brackets. InvalidArgument says what is wrong.
Result<Endpoint> parse_endpoint(std::string_view text);
// "ws://HOST:PORT", "wss://" with TLS, and perhaps a "/" at its end.
Result<Endpoint> parse_server_url(std::string_view url);
std::string server_url(const Endpoint& endpoint);
// "HOST:PORT"; IPv6 in brackets.
std::string host_and_port(const Endpoint& endpoint);

}  // namespace quire::wire
