#include "application/server/http_session.h"

#include <utility>  // Before Asio.

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/websocket/rfc6455.hpp>
#include <chrono>
#include <string>

#include "application/server/websocket_session.h"
#include "base/check.h"

namespace quire::server {
namespace {

namespace beast = boost::beast;
namespace http = beast::http;
using tcp = boost::asio::ip::tcp;
using ErrorCodeOf = boost::system::error_code;

constexpr std::size_t kDiscardReadBytes = 16u << 10;  // At once.
constexpr std::chrono::milliseconds kDiscardTimeMax{1'000};
constexpr std::size_t kDiscardBytesMax = 64u << 10;  // Of a body that the server does not read.

// What the router looks at.
HttpHead head_of(const http::request<http::empty_body>& request) {
  HttpHead head;
  head.method = std::string(request.method_string());
  head.target = std::string(request.target());
  for (const auto& each : request) {
    if (each.name() == http::field::host) head.hosts.emplace_back(each.value());
    if (each.name() == http::field::origin) head.origins.emplace_back(each.value());
    if (each.name() != http::field::sec_websocket_protocol) continue;
    for (const auto& token : http::token_list(each.value())) {
      head.subprotocols.emplace_back(token);
    }
  }
  head.is_upgrade = beast::websocket::is_upgrade(request);
  return head;
}

class HttpSession final : public Session, public std::enable_shared_from_this<HttpSession> {
 public:
  HttpSession(SessionHost& host, Socket socket, ConnectionId id, bool is_refused)
      : host_(host),
        connection_(std::make_shared<Connection>(id)),
        stream_(std::move(socket)),
        is_refused_(is_refused) {}

  void start() override { read_head(); }
  void resume() override {}
  void write(wire::ServerFrame, std::uint64_t) override {
    QUIRE_CHECK(false, "the engine has heard nothing of this connection");
  }
  void answered(std::uint64_t) override {
    QUIRE_CHECK(false, "the engine has heard nothing of this connection");
  }
  void close_after_writes() override { finish(); }
  void finish() override;
  const ConnectionHandle& connection() const override { return connection_; }
  bool is_open() const override { return false; }
  bool is_refused() const override { return is_refused_; }
  bool is_known_to_engine() const override { return false; }

 private:
  auto me() { return shared_from_this(); }
  void read_head();
  void head_read(ErrorCodeOf error);
  void answer(const HttpAnswer& answer);
  void answered(ErrorCodeOf error, bool keeps);
  void discard_rest();
  void upgrade();
  bool may_keep(const http::request<http::empty_body>& request) const;

  SessionHost& host_;
  const ConnectionHandle connection_;
  TcpStream stream_;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::empty_body>> parser_;
  std::optional<http::response<http::string_body>> response_;
  std::size_t discarded_bytes_ = 0;
  const bool is_refused_;
  bool is_over_ = false;  // It was upgraded, or has finished.
};

// Time for a head begins with the wait for it: a client that asks no more is gone in that time, too.
void HttpSession::read_head() {
  parser_.emplace();
  parser_->header_limit(host_.limits.http_header_bytes_max);
  stream_.expires_after(host_.limits.handshake_time_max);
  http::async_read_header(
      stream_, buffer_, *parser_,
      [self = me()](ErrorCodeOf error, std::size_t) { self->head_read(error); });
}

void HttpSession::head_read(ErrorCodeOf error) {
  if (error == http::error::header_limit) {
    answer(HttpRouter::refusal(431, ErrorCode::TooLarge,
                               "http_header_bytes_max: the header has more than " +
                                   std::to_string(host_.limits.http_header_bytes_max) + " bytes"));
    return;
  }
  const bool is_no_http = error && error.category() == make_error_code(http::error{}).category() &&
                          error != http::error::end_of_stream &&
                          error != http::error::partial_message;
  if (is_no_http) {
    answer(HttpRouter::refusal(400, ErrorCode::InvalidArgument,
                               "not an HTTP request: " + error.message()));
    return;
  }
  if (error) {
    finish();
    return;
  }
  if (is_refused_) {
    answer(HttpRouter::refusal(503, ErrorCode::Unavailable,
                               "connection_count_max: the server has " +
                                   std::to_string(host_.limits.connection_count_max) +
                                   " connections",
                               kFullRetryMs));
    return;
  }
  const auto decision = host_.router->decide(head_of(parser_->get()), host_.is_shutting_down);
  if (const auto* refusal = std::get_if<HttpAnswer>(&decision)) {
    answer(*refusal);
  } else if (buffer_.size() > 0) {
    answer(HttpRouter::refusal(400, ErrorCode::InvalidArgument,
                               "bytes came before the WebSocket was open"));
  } else {
    upgrade();
  }
}

void HttpSession::answer(const HttpAnswer& answer) {
  response_.emplace(static_cast<http::status>(answer.status), 11);
  response_->set(http::field::server, "quire/" QUIRE_VERSION);
  response_->set(http::field::content_type, "application/json");
  response_->set(http::field::cache_control, "no-store");
  for (const auto& [name, value] : answer.headers) response_->set(name, value);
  response_->content_length(answer.body.size());
  const bool keeps = may_keep(parser_->get());
  response_->keep_alive(keeps);
  if (parser_->get().method() != http::verb::head) response_->body() = answer.body;
  stream_.expires_after(host_.limits.handshake_time_max);
  http::async_write(stream_, *response_, [self = me(), keeps](ErrorCodeOf error, std::size_t) {
    self->answered(error, keeps);
  });
}

// The connection may carry another request unless the client wants it closed, the server closes, or
// the end of this request is not known: that of one that was not understood, or whose body is not
// read. What follows could be taken for a request then that another client wrote.
bool HttpSession::may_keep(const http::request<http::empty_body>& request) const {
  const boost::beast::string_view body_bytes = request[http::field::content_length];
  const bool has_body = request.find(http::field::transfer_encoding) != request.end() ||
                        (!body_bytes.empty() && body_bytes != "0");
  // After a refused upgrade the client may have sent frames already.
  const bool ends_here = has_body || beast::websocket::is_upgrade(request) || is_refused_;
  return parser_->is_header_done() && request.keep_alive() && !ends_here && !host_.is_shutting_down;
}

void HttpSession::answered(ErrorCodeOf error, bool keeps) {
  if (error) {
    finish();
  } else if (keeps && !host_.is_shutting_down) {
    read_head();
  } else {
    ErrorCodeOf ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
    stream_.expires_after(kDiscardTimeMax);
    discard_rest();
  }
}

// Closing a socket with unread bytes would take back the answer.
void HttpSession::discard_rest() {
  buffer_.clear();
  stream_.async_read_some(buffer_.prepare(kDiscardReadBytes),
                          [self = me()](ErrorCodeOf error, std::size_t bytes) {
                            self->discarded_bytes_ += bytes;
                            if (error || self->discarded_bytes_ > kDiscardBytesMax) {
                              self->finish();
                            } else {
                              self->discard_rest();
                            }
                          });
}

// The socket goes on as a WebSocket. To the host this session is replaced, and not closed.
void HttpSession::upgrade() {
  is_over_ = true;
  stream_.expires_never();
  const SessionHandle next =
      make_websocket_session(host_, std::move(stream_), connection_, parser_->release());
  host_.upgraded(next);
  next->start();
}

void HttpSession::finish() {
  if (std::exchange(is_over_, true)) return;
  stream_.close();
  host_.closed(*this);
}

}  // namespace

SessionHandle make_http_session(SessionHost& host, Socket socket, ConnectionId id,
                                bool is_refused) {
  return std::make_shared<HttpSession>(host, std::move(socket), id, is_refused);
}

}  // namespace quire::server
