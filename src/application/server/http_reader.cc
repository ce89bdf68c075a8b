#include "application/server/http_reader.h"

#include <utility>  // Before Asio.

#include <algorithm>
#include <boost/beast/http.hpp>
#include <boost/beast/websocket/rfc6455.hpp>

#include "base/check.h"
#include "base/utf8.h"
#include "base/wiped_queue.h"

namespace quire::server {
namespace {

namespace beast = boost::beast;
namespace http = beast::http;
using ErrorCodeOf = boost::system::error_code;
// A field that is dropped, such as one with a key, leaves no bytes in memory.
using Parser = http::request_parser<http::buffer_body, WipingAllocator<char>>;

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
std::optional<HttpProblem> take_target(beast::string_view given, HttpHead& into) {
  into.target = text_of(given);
  const std::string_view target(given.data(), given.size());
  const std::size_t scheme_end = target.find("://");
  // "://" after a / or ? is part of a path or query.
  if (scheme_end == std::string_view::npos || scheme_end > target.find_first_of("/?#")) {
    return std::nullopt;
  }
  const std::string scheme = lower(beast::string_view(target.data(), scheme_end));
  const std::string shown(target.substr(0, target.find('?')));  // A query may hold a key.
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

std::string_view view_of(beast::string_view text) {
  return {text.data(), text.size()};
}

// Whether the header may hold a key of the server. Its value is then in `into` alone.
bool take_credential(std::string_view name, beast::string_view value, Credentials& into) {
  if (name == "authorization") {
    into.authorizations.emplace_back(view_of(value));
  } else if (name == "x-api-key") {
    into.api_keys.emplace_back(view_of(value));
  } else if (name == "x-goog-api-key") {
    into.google_keys.emplace_back(view_of(value));
  } else if (name != "sec-websocket-protocol") {
    return false;
  }
  into.lines.append(name).append(": ").append(view_of(value)).append("\n");
  return true;
}

void take_subprotocols(beast::string_view value, HttpHead& into) {
  for (const auto& token : http::token_list(value)) {
    const std::string_view each = view_of(token);
    if (each.starts_with(kKeySubprotocol)) {
      into.credentials.subprotocol_keys.emplace_back(each.substr(kKeySubprotocol.size()));
    } else {
      into.subprotocols.emplace_back(each);
    }
  }
}

// A header that holds no key.
void take_field(const Parser::value_type::value_type& field, const std::string& name,
                HttpHead& into) {
  const std::string value = text_of(field.value());
  switch (field.name()) {
    case http::field::host:
      into.hosts.push_back(value);
      break;
    case http::field::origin:
      into.origins.push_back(value);
      break;
    case http::field::access_control_request_method:
      into.asked_method = value;
      break;
    case http::field::access_control_request_headers:
      into.asked_headers = value;
      break;
    case http::field::expect:
      into.expectation = lower(field.value());
      break;
    case http::field::content_encoding:
      into.codings.push_back(value);
      break;
    default:
      break;
  }
  if (name == "sec-fetch-site") into.is_cross_site |= value == "cross-site";
  if (name == "sec-fetch-mode") into.is_navigation = value == "navigate";
  if (name == "x-request-id") {
    into.request_id = value;
  } else if (!is_for_server(field.name())) {
    into.lines += name + ": " + value + "\n";
  }
}

// The parts of the head that the router and the program look at.
std::variant<MoreNeeded, HttpHead, HttpProblem> head_of(const Parser& parser) {
  const auto& request = parser.get();
  HttpHead head;
  head.method = text_of(request.method_string());
  if (std::optional<HttpProblem> wrong = take_target(request.target(), head)) {
    return *std::move(wrong);
  }
  for (const auto& each : request) {
    const std::string name = lower(each.name_string());
    if (each.name() == http::field::sec_websocket_protocol) take_subprotocols(each.value(), head);
    if (!take_credential(name, each.value(), head.credentials)) take_field(each, name, head);
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

// The parser keeps the head until the next request, which may be never. Only the HttpHead still has
// the key.
void drop_credentials(Parser::value_type& request) {
  request.erase(http::field::authorization);
  request.erase(http::field::sec_websocket_protocol);
  request.erase("x-api-key");
  request.erase("x-goog-api-key");
}

}  // namespace

class HttpReader::Implementation {
 public:
  explicit Implementation(const HttpReaderLimits& given) : limits(given) {}

  HttpProblem problem_of(ErrorCodeOf error) const;

  const HttpReaderLimits limits;
  // Takes what the parser takes of the received bytes.
  void parse(ErrorCodeOf& error) {
    const std::string_view received = buffer.view();
    buffer.take(parser->put(boost::asio::const_buffer(received.data(), received.size()), error));
  }

  WipedQueue buffer;
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
  implementation_->buffer.add(received);
}
bool HttpReader::has_room() const {
  return implementation_->buffer.size() < kBufferBytesMax;
}
bool HttpReader::has_bytes() const {
  return !implementation_->buffer.is_empty();
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
    if (self.buffer.is_empty()) {
      self.buffer.shrink(kKeptBufferBytes);
      return MoreNeeded{};
    }
    if (has_fold(self.buffer.view().substr(0, self.limits.header_bytes_max))) {
      return problem(400, ErrorCode::InvalidArgument,
                     "a header is folded: its value goes on in the next line");
    }
    self.parse(error);
    if (error == http::error::need_more) return MoreNeeded{};
    if (error) return self.problem_of(error);
  }
  if (std::optional<HttpProblem> wrong = framing_problem(self.parser->get())) {
    return *std::move(wrong);
  }
  auto head = head_of(*self.parser);
  drop_credentials(self.parser->get());
  return head;
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
  while (!self.buffer.is_empty() && !self.parser->is_done() && body.size > 0) {
    self.parse(error);
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
