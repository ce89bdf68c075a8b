#pragma once
// HttpGrant: the leave to send HTTP to a host, or to many. Without one a program reaches no host.
//
//   *                    every public host, ports 80 and 443
//   api.example.com      this host, if it is public; ports 80 and 443
//   *.example.com        every public host below example.com, not that itself
//   example.com:8443     this host at this port, wherever its name leads, private networks included
//   10.0.0.7:8080        this address at this port, private or link-local
//   *.example.com:*      at any port; a port after * or *.name does not open private networks
//
// Thread   any; plain values and pure functions.
// Errors   InvalidArgument for an invalid pattern. PermissionDenied if no grant is enough; it names
//          the flag that would be.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "application/net/ip_address.h"
#include "application/net/url.h"
#include "base/result.h"

namespace quire::net {

enum class GrantHosts : std::uint8_t { Any, Below, One };
enum class GrantPorts : std::uint8_t { Usual, Any, One };  // Usual: 80 and 443.

struct HttpGrant {
  GrantHosts hosts = GrantHosts::One;
  GrantPorts ports = GrantPorts::Usual;
  Host host;  // Of One; of Below what follows "*.".
  std::uint16_t port = 0;
  std::optional<std::uint32_t> tenant = {};  // Whose list it is of; none: that of all.
};

Result<HttpGrant> parse_http_grant(std::string_view pattern);
// `tenant`: the operator gave the patterns to this one alone, so that an error names its option.
Result<std::vector<HttpGrant>> parse_http_grants(const std::vector<std::string>& patterns,
                                                 std::optional<std::uint32_t> tenant = {});

// How far the grants let this URL reach: Public, Private or LinkLocal, the widest that one gives.
Result<Reach> granted_reach(const Url& url, const std::vector<HttpGrant>& grants);

// Whether every address that the URL's host has lies within reach; the error names one that does
// not, and the option that adds to the `grants`. No address at all is an error too.
Result<void> check_addresses(const Url& url, const std::vector<IpAddress>& addresses, Reach reach,
                             AddressPolicy policy, const std::vector<HttpGrant>& grants = {});

}  // namespace quire::net
