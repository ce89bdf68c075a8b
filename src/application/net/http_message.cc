#include "application/net/http_message.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"

namespace quire::net {
namespace {

constexpr std::size_t kHeaderCountMax = 256;
constexpr std::size_t kQuotedHeaderBytesMax = 80;
constexpr std::string_view kMethods[] = {"GET",   "HEAD",   "POST",   "PUT",
                                         "PATCH", "DELETE", "OPTIONS"};
// Headers that govern how the message is carried. A program that wrote these could make two
// messages of one.
constexpr std::string_view kTransportHeaders[] = {
    "connection",     "content-length",   "expect", "host",
    "http2-settings", "keep-alive",       "te",     "trailer",
    "upgrade",        "transfer-encoding"};
constexpr std::string_view kCredentialHeaders[] = {"authorization", "cookie", "cookie2"};

template <std::size_t N>
bool contains(const std::string_view (&names)[N], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

std::string quoted(std::string_view text) {
  return "\"" + printable(text.substr(0, kQuotedHeaderBytesMax)) + "\"";
}

// RFC 9110: the bytes of a method or of the name of a header.
bool is_token(std::string_view text) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char each) {
    return (each >= '0' && each <= '9') || (each >= 'a' && each <= 'z') ||
           (each >= 'A' && each <= 'Z') || kMarks.find(each) != std::string_view::npos;
  });
}

bool is_value(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char each) {
    const auto byte = static_cast<unsigned char>(each);
    return byte == '\t' || (byte >= 0x20 && byte != 0x7f);
  });
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& each : out) {
    if (each >= 'A' && each <= 'Z') each = static_cast<char>(each + 32);
  }
  return out;
}

std::optional<HttpHeader> parse_header(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || !is_token(line.substr(0, colon))) return std::nullopt;
  const std::string_view value = trimmed(line.substr(colon + 1));
  if (!is_value(value)) return std::nullopt;
  return HttpHeader{lower(line.substr(0, colon)), std::string(value)};
}

// "HTTP/1.1 200 OK"
std::optional<std::uint16_t> parse_status(std::string_view line) {
  const std::size_t space = line.find(' ');
  if (!line.starts_with("HTTP/") || space == std::string_view::npos) return std::nullopt;
  const std::string_view digits = line.substr(space + 1, 3);
  if (digits.size() != 3 || digits[0] < '1' || digits[0] > '9') return std::nullopt;
  std::uint16_t status = 0;
  for (const char each : digits) {
    if (each < '0' || each > '9') return std::nullopt;
    status = static_cast<std::uint16_t>(status * 10 + (each - '0'));
  }
  return status;
}

}  // namespace

const std::string* find_header(const std::vector<HttpHeader>& headers, std::string_view name) {
  const std::string* found = nullptr;
  for (const HttpHeader& each : headers) {
    if (each.name == name) found = &each.value;
  }
  return found;
}

void remove_header(std::vector<HttpHeader>& headers, std::string_view name) {
  std::erase_if(headers, [&](const HttpHeader& each) { return each.name == name; });
}

Result<std::vector<HttpHeader>> parse_header_lines(std::string_view lines) {
  std::vector<HttpHeader> headers;
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    const std::string_view line = lines.substr(0, end);
    lines.remove_prefix(std::min(end + 1, lines.size()));
    std::optional<HttpHeader> header = parse_header(line);
    if (!header) {
      return Error(
          ErrorCode::InvalidArgument,
          "headers: a line is \"name: value\" without control characters, not " + quoted(line));
    }
    if (contains(kTransportHeaders, header->name) || header->name.starts_with("proxy-")) {
      return Error(ErrorCode::InvalidArgument,
                   "headers: " + quoted(header->name) + " is written by the server itself");
    }
    if (headers.size() == kHeaderCountMax) {
      return Error(ErrorCode::TooLarge,
                   "headers: more than " + std::to_string(kHeaderCountMax) + " lines");
    }
    headers.push_back(*std::move(header));
  }
  return headers;
}

std::string header_lines(const std::vector<HttpHeader>& headers) {
  std::string lines;
  for (const HttpHeader& each : headers) lines += each.name + ": " + each.value + "\n";
  return lines;
}

Result<void> check_method(std::string_view method) {
  if (contains(kMethods, method)) return {};
  std::string known;
  for (const std::string_view each : kMethods)
    known += (known.empty() ? "" : ", ") + std::string(each);
  return Error(ErrorCode::InvalidArgument,
               "method " + quoted(method) + " (supported: " + known + ")");
}

Result<bool> HeadParser::take(std::string_view line) {
  bytes_ += line.size();
  if (bytes_ > bytes_max_) {
    return Error(ErrorCode::TooLarge,
                 "http.response_header_bytes_max: the response has more than " +
                     std::to_string(bytes_max_) + " bytes of headers");
  }
  if (ended_) return false;
  while (line.ends_with('\n') || line.ends_with('\r')) line.remove_suffix(1);
  if (line.empty()) {
    ended_ = head_.status >= 200;
    return ended_;
  }
  if (line.starts_with("HTTP/") && (head_.status == 0 || head_.status < 200)) {
    const std::optional<std::uint16_t> status = parse_status(line);
    if (!status || *status == 101) {
      return Error(ErrorCode::Io, "the server's status line is " + quoted(line));
    }
    head_ = {*status, {}};
    return false;
  }
  if ((line[0] == ' ' || line[0] == '\t') && !head_.headers.empty() && is_value(line)) {
    head_.headers.back().value += " " + std::string(trimmed(line));  // A folded line.
    return false;
  }
  std::optional<HttpHeader> header = parse_header(line);
  if (!header) return Error(ErrorCode::Io, "a header of the response is " + quoted(line));
  head_.headers.push_back(*std::move(header));
  return false;
}

Result<std::optional<Hop>> next_hop(const Hop& hop, const HttpHead& head, bool is_body_streamed) {
  constexpr std::uint16_t kRedirects[] = {301, 302, 303, 307, 308};
  const std::string* location = find_header(head.headers, "location");
  const bool is_redirect =
      std::find(std::begin(kRedirects), std::end(kRedirects), head.status) != std::end(kRedirects);
  if (!is_redirect || location == nullptr || is_body_streamed) return std::optional<Hop>();
  Result<Url> url = resolve_location(hop.url, *location);
  if (!url.ok()) return std::move(url).take_error().while_("a redirect");
  Hop next = hop;
  next.url = std::move(url).take();
  if (hop.url.is_https && !next.url.is_https) {
    return Error(ErrorCode::PermissionDenied, "a redirect leads from https to " +
                                                  text_of(next.url) + ", which is not encrypted");
  }
  const bool becomes_get =
      head.status == 303 ? hop.method != "HEAD" : head.status <= 302 && hop.method == "POST";
  if (becomes_get) {
    next.method = "GET";
    next.has_body = false;
    std::erase_if(next.headers,
                  [](const HttpHeader& each) { return each.name.starts_with("content-"); });
  }
  if (!same_origin(hop.url, next.url)) {
    for (const std::string_view name : kCredentialHeaders) remove_header(next.headers, name);
  }
  return std::optional<Hop>(std::move(next));
}

}  // namespace quire::net
