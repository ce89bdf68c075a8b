#include "application/server/http_reader.h"

#include <utility>  // Before Asio.

#include <algorithm>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/websocket/rfc6455.hpp>
#include <cstring>

#include "base/check.h"
#include "base/utf8.h"

namespace quire::server {
namespace {

namespace beast = boost::beast;
namespace http = beast::http;
using ErrorCodeOf = boost::system::error_code;
using Parser = http::request_parser<http::buffer_body>;

constexpr std::size_t kKeptBufferBytes = 4096;  // Of an idle connection.

std::string text_of(beast::string_view text) {
  return std::string(text.data(), text.size());
}

std::string lower(beast::string_view text) {
  std::string out = text_of(text);
  std::transform(out.begin(), out.end(), out.begin(), [](char each) {
    return static_cast<char>(each >= 'A' && each <= 'Z' ? each - 'A' + 'a' : each);
  });
  return out;
}

HttpProblem problem(std::uint32_t status, ErrorCode code, std::string message) {
  return {status, code, std::move(message)};
}

// A body is framed by one plain length, or by chunks alone. Beast takes some other framings, which
// a proxy in front of the server may read another way.
std::optional<HttpProblem> framing_problem(const Parser::value_type& request) {
  std::size_t length_count = 0;
  std::size_t encoding_count = 0;
  for (const auto& each : request) {
    if (each.name() == http::field::content_length) {
      ++length_count;
      const beast::string_view value = each.value();
      const bool is_plain = !value.empty() && std::all_of(value.begin(), value.end(), [](char c) {
        return c >= '0' && c <= '9';
      });
      if (!is_plain) {
        return problem(400, ErrorCode::InvalidArgument,
                       "Content-Length " + in_quotes(text_of(value)) + " is not one whole number");
      }
    }
    if (each.name() != http::field::transfer_encoding) continue;
    ++encoding_count;
    if (lower(each.value()) != "chunked") {
      return problem(501, ErrorCode::NotSupported,
                     "Transfer-Encoding " + in_quotes(text_of(each.value())) +
                         ": this server takes chunked alone");
    }
  }
  if (length_count > 1 || encoding_count > 1 || (length_count > 0 && encoding_count > 0)) {
    return problem(400, ErrorCode::InvalidArgument,
                   "the length of the body is given more than once");
  }
  if (encoding_count > 0 && request.version() < 11) {
    return problem(400, ErrorCode::InvalidArgument,
                   "Transfer-Encoding needs HTTP/1.1: HTTP/1.0 has no chunks");
  }
  return std::nullopt;
}

// A header that goes on in the next line is one header to Beast and two to some proxies.
bool has_fold(std::string_view head) {
  head = head.substr(0, head.find("\r\n\r\n"));
  return head.find("\r\n ") != std::string_view::npos ||
         head.find("\r\n\t") != std::string_view::npos;
}

// Hop by hop: not the program's.
bool is_for_server(http::field name) {
  switch (name) {
    case http::field::connection:
    case http::field::expect:
    case http::field::keep_alive:
    case http::field::proxy_connection:
    case http::field::te:
    case http::field::trailer:
    case http::field::transfer_encoding:
    case http::field::upgrade:
      return true;
    default:
      return false;
  }
}

// Takes a target of the absolute form (RFC 9112, 3.2.2) apart: "http://localhost:80/x" is the authority
// "localhost:80" and the path "/x". All other forms stay as they came.
std::optional<HttpProblem> take_target(const std::string& target, HttpHead& into) {
  into.target = target;
  const std::size_t scheme_end = target.find("://");
  // "://" after a / or ? is part of a path or query.
  if (scheme_end == std::string::npos || scheme_end > target.find_first_of("/?#")) {
    return std::nullopt;
  }
  const std::string scheme = lower(beast::string_view(target.data(), scheme_end));
  const std::string shown = target.substr(0, target.find('?'));  // A query may hold a key.
  if (scheme != "http" && scheme != "https") {
    return problem(400, ErrorCode::InvalidArgument,
                   "the target " + in_quotes(shown) + " has the scheme " + in_quotes(scheme) +
                       "; this server has http and https");
  }
  const std::size_t authority_at = scheme_end + 3;
  const std::size_t path_at = std::min(target.find_first_of("/?#", authority_at), target.size());
  into.authority = target.substr(authority_at, path_at - authority_at);
  into.default_port = scheme == "https" ? 443 : 80;
  if (into.authority.empty() || into.authority.find('@') != std::string::npos) {
    return problem(400, ErrorCode::InvalidArgument,
                   "the target " + in_quotes(shown) +
                       " does not name a host: a host and perhaps a port were expected after ://");
  }
  into.target = target.substr(path_at);
  if (!into.target.starts_with('/')) {
    // Without a path, OPTIONS is about the server, and all others are about its root.
    const bool is_about_server = into.method == "OPTIONS" && into.target.empty();
    into.target.insert(0, is_about_server ? "*" : "/");
  }
  return std::nullopt;
}

// Whether the header may hold a key of the server.
bool take_credential(const std::string& name, const std::string& value, Credentials& into) {
  if (name == "authorization") {
    into.authorizations.push_back(value);
  } else if (name == "x-api-key") {
    into.api_keys.push_back(value);
  } else if (name == "x-goog-api-key") {
    into.google_keys.push_back(value);
  } else {
    return name == "sec-websocket-protocol";
  }
  return true;
}

// The parts of the head that the router and the program look at.
std::variant<MoreNeeded, HttpHead, HttpProblem> head_of(const Parser& parser) {
  const auto& request = parser.get();
  HttpHead head;
  head.method = text_of(request.method_string());
  if (std::optional<HttpProblem> wrong = take_target(text_of(request.target()), head)) {
    return *std::move(wrong);
  }
  for (const auto& each : request) {
    const std::string value = text_of(each.value());
    switch (each.name()) {
      case http::field::host:
        head.hosts.push_back(value);
        break;
      case http::field::origin:
        head.origins.push_back(value);
        break;
      case http::field::sec_websocket_protocol:
        for (const auto& token : http::token_list(each.value())) {
          head.subprotocols.emplace_back(token);
        }
        break;
      case http::field::access_control_request_method:
        head.asked_method = value;
        break;
      case http::field::access_control_request_headers:
        head.asked_headers = value;
        break;
      case http::field::expect:
        head.expectation = lower(each.value());
        break;
      case http::field::content_encoding:
        head.codings.push_back(value);
        break;
      default:
        break;
    }
    const std::string name = lower(each.name_string());
    if (name == "sec-fetch-site") head.is_cross_site |= value == "cross-site";
    if (name == "sec-fetch-mode") head.is_navigation = value == "navigate";
    if (name == "x-request-id") {
      head.request_id = value;
    } else if (take_credential(name, value, head.credentials)) {
      head.credentials.lines += name + ": " + value + "\n";
    } else if (!is_for_server(each.name())) {
      head.lines += name + ": " + value + "\n";
    }
  }
  // A program finds the host in one place, whichever form the target had.
  if (head.hosts.empty() && !head.authority.empty()) {
    head.lines.insert(0, "host: " + head.authority + "\n");
  }
  head.is_upgrade = beast::websocket::is_upgrade(request);
  head.is_http_1_0 = request.version() < 11;
  head.keeps_alive = request.keep_alive();
  head.has_body = !parser.is_done();
  if (const auto bytes = parser.content_length()) head.content_bytes = *bytes;
  return head;
}

}  // namespace

class HttpReader::Implementation {
 public:
  explicit Implementation(const HttpReaderLimits& given) : limits(given) {}

  HttpProblem problem_of(ErrorCodeOf error) const;

  const HttpReaderLimits limits;
  beast::flat_buffer buffer;
  std::optional<Parser> parser;
};

HttpProblem HttpReader::Implementation::problem_of(ErrorCodeOf error) const {
  if (error == http::error::header_limit) {
    return problem(431, ErrorCode::TooLarge,
                   "http_header_bytes_max: the header has more than " +
                       std::to_string(limits.header_bytes_max) + " bytes");
  }
  if (error == http::error::body_limit) {
    return problem(413, ErrorCode::TooLarge,
                   "request_body_bytes_max: the body has more than " +
                       std::to_string(limits.body_bytes_max) + " bytes");
  }
  return problem(400, ErrorCode::InvalidArgument, "not an HTTP request: " + error.message());
}

HttpReader::HttpReader(const HttpReaderLimits& limits)
    : implementation_(std::make_unique<Implementation>(limits)) {}

HttpReader::~HttpReader() = default;

void HttpReader::add(std::string_view received) {
  beast::flat_buffer& buffer = implementation_->buffer;
  const auto room = buffer.prepare(received.size());
  std::memcpy(room.data(), received.data(), received.size());
  buffer.commit(received.size());
}
bool HttpReader::has_room() const {
  return implementation_->buffer.size() < kBufferBytesMax;
}
bool HttpReader::has_bytes() const {
  return implementation_->buffer.size() > 0;
}
bool HttpReader::is_body_whole() const {
  return !implementation_->parser || implementation_->parser->is_done();
}

std::variant<MoreNeeded, HttpHead, HttpProblem> HttpReader::read_head() {
  Implementation& self = *implementation_;
  if (!self.parser || self.parser->is_done()) {
    self.parser.emplace();
    self.parser->header_limit(self.limits.header_bytes_max);
    self.parser->body_limit(self.limits.body_bytes_max);
    self.parser->eager(false);
  }
  ErrorCodeOf error;
  while (!self.parser->is_header_done()) {
    if (self.buffer.size() == 0) {
      if (self.buffer.capacity() > kKeptBufferBytes) self.buffer.shrink_to_fit();
      return MoreNeeded{};
    }
    const std::string_view received(static_cast<const char*>(self.buffer.data().data()),
                                    self.buffer.size());
    if (has_fold(received.substr(0, self.limits.header_bytes_max))) {
      return problem(400, ErrorCode::InvalidArgument,
                     "a header is folded: its value goes on in the next line");
    }
    self.buffer.consume(self.parser->put(self.buffer.data(), error));
    if (error == http::error::need_more) return MoreNeeded{};
    if (error) return self.problem_of(error);
  }
  if (std::optional<HttpProblem> wrong = framing_problem(self.parser->get())) {
    return *std::move(wrong);
  }
  return head_of(*self.parser);
}

std::variant<MoreNeeded, BodyPart, HttpProblem> HttpReader::read_part() {
  Implementation& self = *implementation_;
  QUIRE_CHECK(!is_body_whole(), "a part is asked for while the body is not whole");
  std::string bytes(std::min(kPartBytesMax, std::max<std::size_t>(self.buffer.size(), 1)), '\0');
  auto& body = self.parser->get().body();
  body.data = bytes.data();
  body.size = bytes.size();
  body.more = true;
  ErrorCodeOf error;
  while (self.buffer.size() > 0 && !self.parser->is_done() && body.size > 0) {
    self.buffer.consume(self.parser->put(self.buffer.data(), error));
    if (error) break;
  }
  const bool is_stuck = error == http::error::need_more;
  if (error && !is_stuck && error != http::error::need_buffer) return self.problem_of(error);
  bytes.resize(bytes.size() - body.size);
  const bool is_last = self.parser->is_done();
  body.data = nullptr;
  body.size = 0;
  if (!bytes.empty() || is_last) return BodyPart{std::move(bytes), is_last};
  if (is_stuck && !has_room()) {
    return problem(400, ErrorCode::InvalidArgument,
                   "the line of a chunk, or what follows the last, has more than " +
                       std::to_string(kBufferBytesMax) + " bytes");
  }
  return MoreNeeded{};
}

UpgradeRequest HttpReader::take_upgrade() {
  auto request = implementation_->parser->release();
  implementation_->parser.reset();
  return UpgradeRequest(std::move(request.base()));
}

}  // namespace quire::server
