#include "application/net/url.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"

namespace quire::net {
namespace {

constexpr std::size_t kHostBytesMax = 253;
constexpr std::size_t kLabelBytesMax = 63;
constexpr std::size_t kQuotedUrlBytesMax = 80;

Error wrong(const std::string& what, std::string_view part) {
  std::string quoted = printable(part.substr(0, kQuotedUrlBytesMax));
  if (part.size() > kQuotedUrlBytesMax) quoted += "...";
  return Error(ErrorCode::InvalidArgument, what + ": \"" + quoted + "\"");
}

bool is_digit(char each) {
  return each >= '0' && each <= '9';
}
char lower(char each) {
  return each >= 'A' && each <= 'Z' ? static_cast<char>(each + 32) : each;
}
bool is_letter(char each) {
  return lower(each) >= 'a' && lower(each) <= 'z';
}

// "1", "0x7f": what some parser takes for a number, so that the host would be an address.
bool is_number(std::string_view label) {
  if (std::all_of(label.begin(), label.end(), is_digit)) return true;
  return label.size() >= 2 && label[0] == '0' && lower(label[1]) == 'x';
}

Result<void> check_label(std::string_view label, std::string_view host) {
  if (label.empty()) return wrong("the host has an empty label (two dots, or one at an end)", host);
  if (label.size() > kLabelBytesMax) {
    return wrong("a label of the host has more than " + std::to_string(kLabelBytesMax) + " bytes",
                 host);
  }
  if (label.front() == '-' || label.back() == '-') {
    return wrong("a label of the host begins or ends with \"-\"", host);
  }
  for (const char each : label) {
    if (is_letter(each) || is_digit(each) || each == '-' || each == '_') continue;
    if (static_cast<unsigned char>(each) >= 0x80) {
      return wrong("the host has letters beyond ASCII; write it in punycode (xn--...)", host);
    }
    return wrong("the host may have letters, digits, \"-\", \"_\" and dots only", host);
  }
  return {};
}

Result<Host> parse_bracketed(std::string_view text) {
  const std::optional<IpAddress> address = parse_ipv6(text.substr(1, text.size() - 2));
  if (!address) return wrong("no IPv6 address lies between the brackets", text);
  return Host{text_of(*address), address};
}

// Everything after the authority, in the one spelling that is sent.
Result<std::string> parse_target(std::string_view text) {
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string target = text.empty() || text[0] != '/' ? "/" : "";
  for (const char each : text) {
    const auto byte = static_cast<unsigned char>(each);
    if (each == '#') break;
    if (byte < 0x80) {
      target += each;
    } else {
      target += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return target;
}

Result<void> check_bytes(std::string_view text) {
  for (const char each : text) {
    const auto byte = static_cast<unsigned char>(each);
    if (byte <= 0x20 || byte == 0x7f) {
      return wrong("a URL has no spaces and no control characters; percent-encode them", text);
    }
    if (each == '\\') return wrong("a URL has no backslash", text);
  }
  return {};
}

Result<Url> parse_behind_scheme(bool is_https, std::string_view rest) {
  Url url;
  url.is_https = is_https;
  const std::size_t end = std::min(rest.find_first_of("/?#"), rest.size());
  const std::string_view authority = rest.substr(0, end);
  if (authority.find('@') != std::string_view::npos) {
    return wrong("a URL has no user name or password; send an authorization header", authority);
  }
  std::size_t colon = std::string_view::npos;
  if (authority.starts_with('[')) {
    const std::size_t close = authority.find(']');
    if (close == std::string_view::npos) return wrong("the bracket is not closed", authority);
    if (close + 1 < authority.size()) {
      colon = close + 1;
      if (authority[colon] != ':') return wrong("only a port may follow the bracket", authority);
    }
  } else {
    colon = authority.find(':');
  }
  Host host = TRY(parse_host(authority.substr(0, colon)));
  url.host = std::move(host.name);
  url.address = host.address;
  url.port = is_https ? 443 : 80;
  if (colon != std::string_view::npos) url.port = TRY(parse_port(authority.substr(colon + 1)));
  url.target = TRY(parse_target(rest.substr(end)));
  return url;
}

// RFC 3986, 5.2.4, of a path that begins with "/".
std::string without_dots(std::string_view path) {
  std::string out;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/', 1), path.size());
    const std::string_view segment = path.substr(0, end);
    path.remove_prefix(end);
    const bool is_last = path.empty();
    if (segment == "/.") {
      if (is_last) out += '/';
    } else if (segment == "/..") {
      out.erase(std::min(out.rfind('/'), out.size()));
      if (is_last) out += '/';
    } else {
      out += segment;
    }
  }
  return out.empty() ? "/" : out;
}

// The scheme in front of a colon, in lower case; empty where there is none.
std::string scheme_of(std::string_view text) {
  std::string scheme;
  for (const char each : text) {
    if (each == ':') return scheme;
    const bool is_other = is_digit(each) || each == '+' || each == '-' || each == '.';
    if (!is_letter(each) && (scheme.empty() || !is_other)) return "";
    scheme += lower(each);
  }
  return "";
}

}  // namespace

Result<Host> parse_host(std::string_view text) {
  if (text.empty()) return wrong("the URL names no host", text);
  if (text.starts_with('[') && text.ends_with(']')) return parse_bracketed(text);
  if (text.size() > kHostBytesMax) {
    return wrong("the host has more than " + std::to_string(kHostBytesMax) + " bytes", text);
  }
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('.', begin), text.size());
    TRY(check_label(text.substr(begin, end - begin), text));
    begin = end + 1;
  }
  if (const std::optional<IpAddress> address = parse_ipv4(text)) {
    return Host{text_of(*address), address};
  }
  if (is_number(text.substr(text.rfind('.') + 1))) {
    return wrong("an IPv4 address is four decimal numbers of 0 to 255 without leading zeros", text);
  }
  Host host;
  for (const char each : text) host.name += lower(each);
  return host;
}

Result<std::uint16_t> parse_port(std::string_view text) {
  const bool is_number = !text.empty() && text.size() <= 5 && text[0] != '0' &&
                         std::all_of(text.begin(), text.end(), is_digit);
  std::uint32_t port = 0;
  if (is_number) {
    for (const char each : text) port = port * 10 + static_cast<std::uint32_t>(each - '0');
  }
  if (port == 0 || port > UINT16_MAX) return wrong("a port is a number of 1 to 65535", text);
  return static_cast<std::uint16_t>(port);
}

Result<Url> parse_url(std::string_view text) {
  TRY(check_bytes(text));
  const std::string scheme = scheme_of(text);
  if (scheme != "http" && scheme != "https") {
    return wrong("a URL begins with http:// or https://", text);
  }
  const std::string_view rest = text.substr(scheme.size() + 1);
  if (!rest.starts_with("//")) return wrong("two slashes follow the scheme of a URL", text);
  return parse_behind_scheme(scheme == "https", rest.substr(2));
}

Result<Url> resolve_location(const Url& base, std::string_view location) {
  if (!scheme_of(location).empty()) return parse_url(location);
  TRY(check_bytes(location));
  if (location.starts_with("//")) return parse_behind_scheme(base.is_https, location.substr(2));
  Url url = base;
  const std::string_view path = std::string_view(base.target).substr(0, base.target.find('?'));
  const std::string_view relative = location.substr(0, location.find('#'));
  if (relative.empty()) return url;
  if (relative[0] == '?') {
    url.target = TRY(parse_target(std::string(path) + std::string(relative)));
    return url;
  }
  const std::size_t query = std::min(relative.find('?'), relative.size());
  std::string merged(relative.substr(0, query));
  if (merged[0] != '/') merged.insert(0, path.substr(0, path.rfind('/') + 1));
  url.target = TRY(parse_target(without_dots(merged) + std::string(relative.substr(query))));
  return url;
}

std::string authority_of(const Url& url) {
  const bool is_v6 = url.address && !url.address->is_v4;
  return (is_v6 ? "[" + url.host + "]" : url.host) + ":" + std::to_string(url.port);
}

std::string text_of(const Url& url) {
  return (url.is_https ? "https://" : "http://") + authority_of(url) + url.target;
}

}  // namespace quire::net
