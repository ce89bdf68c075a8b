#include "application/net/http_grant.h"

#include <algorithm>
#include <utility>

namespace quire::net {
namespace {

constexpr std::uint16_t kHttpPort = 80;
constexpr std::uint16_t kHttpsPort = 443;

bool covers_host(const HttpGrant& grant, const Url& url) {
  switch (grant.hosts) {
    case GrantHosts::Any:
      return true;
    case GrantHosts::Below:
      return !url.address && url.host.ends_with("." + grant.host.name);
    case GrantHosts::One:
      return url.host == grant.host.name;
  }
  return false;
}

bool covers_port(const HttpGrant& grant, const Url& url) {
  switch (grant.ports) {
    case GrantPorts::Usual:
      return url.port == kHttpPort || url.port == kHttpsPort;
    case GrantPorts::Any:
      return true;
    case GrantPorts::One:
      return url.port == grant.port;
  }
  return false;
}

Reach reach_of(const HttpGrant& grant) {
  if (grant.hosts != GrantHosts::One || grant.ports != GrantPorts::One) return Reach::Public;
  return grant.host.address ? Reach::LinkLocal : Reach::Private;
}

// The option of the operator's that adds to the list that these grants are of.
std::string option_of(const std::vector<HttpGrant>& grants) {
  if (grants.empty() || !grants.front().tenant) return "--allow-http ";
  return "--tenant " + std::to_string(*grants.front().tenant) + "=allow-http:";
}

// What to do, so that this URL is granted.
std::string advice_for(const Url& url, const std::vector<HttpGrant>& grants) {
  const std::string authority = authority_of(url);
  const bool is_usual = url.port == kHttpPort || url.port == kHttpsPort;
  const bool is_of_tenant = !grants.empty() && grants.front().tenant;
  return std::string(is_of_tenant ? "start the server with " : "start it with ") +
         option_of(grants) + (is_usual ? authority.substr(0, authority.rfind(':')) : authority);
}

Error denied(std::string message) {
  return Error(ErrorCode::PermissionDenied, std::move(message));
}

// "api.example.com" of "https://api.example.com/v1".
std::string_view host_of_url(std::string_view text) {
  if (const std::size_t scheme = text.find("://"); scheme != std::string_view::npos) {
    text.remove_prefix(scheme + 3);
  }
  return text.substr(0, text.find('/'));
}

Result<HttpGrant> parse(std::string_view pattern) {
  HttpGrant grant;
  if (pattern.find('/') != std::string_view::npos) {
    const std::string host(host_of_url(pattern));
    return Error(ErrorCode::InvalidArgument,
                 "a grant has no http:// and no path" + (host.empty() ? "" : ": give " + host));
  }
  std::string_view host = pattern;
  const std::size_t colon = pattern.rfind(':');
  if (colon != std::string_view::npos && !pattern.ends_with(']')) {
    const std::string_view port = pattern.substr(colon + 1);
    host = pattern.substr(0, colon);
    grant.ports = port == "*" ? GrantPorts::Any : GrantPorts::One;
    if (grant.ports == GrantPorts::One) grant.port = TRY(parse_port(port));
  }
  if (host == "*") {
    grant.hosts = GrantHosts::Any;
    return grant;
  }
  if (host.starts_with("*.")) {
    grant.hosts = GrantHosts::Below;
    host.remove_prefix(2);
  }
  grant.host = TRY(parse_host(host));
  if (grant.hosts == GrantHosts::Below && grant.host.address) {
    return Error(ErrorCode::InvalidArgument, "nothing lies below an address");
  }
  return grant;
}

}  // namespace

Result<HttpGrant> parse_http_grant(std::string_view pattern) {
  Result<HttpGrant> grant = parse(pattern);
  if (grant.ok()) return grant;
  return std::move(grant).take_error().while_(
      "\"" + std::string(pattern) +
      "\" is not a grant (as in *, api.example.com, *.example.com, example.com:8443, [::1]:8080)");
}

Result<std::vector<HttpGrant>> parse_http_grants(const std::vector<std::string>& patterns,
                                                 std::optional<std::uint32_t> tenant) {
  std::vector<HttpGrant> grants;
  for (const std::string& each : patterns) {
    grants.push_back(TRY(parse_http_grant(each)));
    grants.back().tenant = tenant;
  }
  return grants;
}

Result<Reach> granted_reach(const Url& url, const std::vector<HttpGrant>& grants) {
  if (grants.empty()) {
    return denied("outbound HTTP is off for this program; " + advice_for(url, grants));
  }
  bool is_granted = false;
  Reach reach = Reach::Public;
  for (const HttpGrant& grant : grants) {
    if (!covers_host(grant, url) || !covers_port(grant, url)) continue;
    is_granted = true;
    reach = std::max(reach, reach_of(grant));
  }
  if (is_granted) return reach;
  return denied("no grant of this program covers " + authority_of(url) + "; " +
                advice_for(url, grants));
}

Result<void> check_addresses(const Url& url, const std::vector<IpAddress>& addresses, Reach reach,
                             AddressPolicy policy, const std::vector<HttpGrant>& grants) {
  if (addresses.empty()) {
    return Error(ErrorCode::NotFound, "the name " + url.host + " has no address");
  }
  for (const IpAddress& address : addresses) {
    const AddressKind kind = policy(address);
    if (kind.reach <= reach && kind.reach != Reach::Never) continue;
    const std::string found = (url.address ? "" : url.host + " has the address ") +
                              text_of(address) + (url.address ? " is " : ", which is ");
    std::string message = found + std::string("no public address (") + kind.name + ")";
    if (kind.reach == Reach::Never) return denied(message + "; no grant opens it");
    IpAddress literal = address;
    Url named = url;
    if (kind.reach == Reach::LinkLocal) {
      named.host = text_of(literal);
      named.address = literal;
    }
    return denied(message + "; only " + option_of(grants) + authority_of(named) + " opens it");
  }
  return {};
}

}  // namespace quire::net
