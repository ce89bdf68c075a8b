#pragma once
// Url is an http or https address, taken apart strictly. A text that two parsers could read
// differently is refused, because the check of a URL and the connection must mean the same host.
//
// Thread   any; plain values and pure functions.
// Errors   InvalidArgument says what is wrong with the URL, and quotes the part.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "application/net/ip_address.h"
#include "base/result.h"

namespace quire::net {

struct Url {
  bool is_https = false;
  std::string host;  // Lower case. An IPv4 address as four decimals, an IPv6 one without brackets.
  std::optional<IpAddress> address;  // Where the host is one.
  std::uint16_t port = 0;
  std::string target;  // Path and query, beginning with "/"; without a fragment.

  friend bool operator==(const Url&, const Url&) = default;
};

// `HTTP://Example.com/a b` is refused for its space, and `http://0x7f.1/` for a number that is not
// an address. User names, backslashes and control characters are refused too, as are percent signs
// and letters beyond ASCII in the host. Bytes beyond ASCII in path and query are percent-encoded.
Result<Url> parse_url(std::string_view text);

// A Location against the URL that answered with it.
Result<Url> resolve_location(const Url& base, std::string_view location);

// "example.com:8443", with brackets where they belong.
std::string authority_of(const Url& url);
std::string text_of(const Url& url);
inline bool same_origin(const Url& one, const Url& other) {
  return one.is_https == other.is_https && one.host == other.host && one.port == other.port;
}

// The host of a URL or of a grant, in its one spelling: an address, or a name in lower case.
struct Host {
  std::string name;
  std::optional<IpAddress> address;
};
Result<Host> parse_host(std::string_view text);
// 1 to 65535, without leading zeros.
Result<std::uint16_t> parse_port(std::string_view text);

}  // namespace quire::net
