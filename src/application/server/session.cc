#include "application/server/session.h"

#include <utility>  // Before Asio.

#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/websocket.hpp>
#include <chrono>
#include <deque>
#include <string>

#include "wire/frame_codec.h"

namespace quire::server {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
namespace websocket = beast::websocket;
using tcp = asio::ip::tcp;
using ErrorCodeOf = boost::system::error_code;

constexpr std::size_t kReadBytes = 64u << 10;  // At once; larger buffers are given back.
constexpr std::chrono::milliseconds kDiscardTimeMax{1'000};
constexpr std::size_t kDiscardBytesMax = 64u << 10;  // Of a body that nobody reads.
constexpr std::uint64_t kFullRetryMs = 1'000;
constexpr std::uint32_t kHeldBackCountMax = 64;  // Frames that may wait for one another.
constexpr std::uint64_t kOwnFrameBytes = 1024;   // About what a reply of this thread takes.

// One connection: an HTTP request, and then either its answer or a WebSocket.
class WebSession final : public Session, public std::enable_shared_from_this<WebSession> {
 public:
  WebSession(SessionHost& host, Socket socket, ConnectionId id, bool is_refused)
      : host_(host),
        connection_(std::make_shared<Connection>(id)),
        stream_(std::move(socket)),
        upload_(host.upload_budget),
        is_refused_(is_refused) {}

  void start() override;
  void resume() override {
    is_listed_ = false;
    read_again();
  }
  void write(wire::ServerFrame frame, std::uint64_t charge) override;
  void answered(std::uint64_t request_bytes) override {
    pending_count_ -= 1;
    pending_bytes_ -= request_bytes;
  }
  void close_after_writes() override {
    close_after_writes(websocket::close_code::going_away, "the server is shutting down");
  }
  void finish() override;
  const ConnectionHandle& connection() const override { return connection_; }
  bool is_open() const override { return is_open_; }
  bool is_refused() const override { return is_refused_; }
  bool is_known_to_engine() const override { return is_known_to_engine_; }

 private:
  struct Item {
    wire::ServerFrame frame;
    std::uint64_t charge = 0;
    // Of what the client asked for: an event, which the engine charges, came by itself.
    std::uint64_t reply_bytes() const {
      const bool is_event = charge != 0 && !std::holds_alternative<wire::Reply>(frame);
      return is_event ? 0 : std::max(charge, kOwnFrameBytes);
    }
  };

  auto me() { return shared_from_this(); }
  void head_read(ErrorCodeOf error);
  void answer(const HttpAnswer& answer);
  void discard_rest();
  void upgrade();
  void read();
  void read_again();
  void set_idle_time(std::chrono::milliseconds time_max);
  void part_read(ErrorCodeOf error);
  void take_message();
  void refuse(std::uint64_t id, const Error& error,
              std::optional<std::uint64_t> retry_after_ms = std::nullopt);
  void take_request(wire::Request request, std::uint64_t bytes);
  void write_next();
  void hold_back(bool is_held);
  void written(ErrorCodeOf error);
  void close_after_writes(websocket::close_code code, const std::string& reason);
  void close();
  bool must_pause() const;

  SessionHost& host_;
  const ConnectionHandle connection_;
  websocket::stream<beast::basic_stream<tcp, asio::io_context::executor_type>> stream_;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::empty_body>> parser_;
  std::optional<http::response<http::string_body>> response_;
  UploadBuffer upload_;
  std::deque<Item> queue_;
  std::uint64_t charged_bytes_ = 0;  // Of the frames in the queue, by the engine.
  std::uint64_t reply_bytes_ = 0;    // Of the replies in the queue.
  wire::Message current_;            // Is being written.
  std::uint64_t pending_count_ = 0;
  std::uint64_t pending_bytes_ = 0;
  std::uint64_t partial_bytes_ = 0;
  std::size_t discarded_bytes_ = 0;
  const bool is_refused_;  // There are too many connections.
  bool is_open_ = false;   // The WebSocket is.
  bool is_reading_ = false;
  bool is_paused_ = false;
  bool is_listed_ = false;  // By the host among the paused, perhaps from an earlier pause.
  bool is_writing_ = false;
  bool is_held_back_ = false;
  std::uint32_t held_back_count_ = 0;  // Frames since then.
  bool is_closing_ = false;
  bool is_close_sent_ = false;
  bool is_finished_ = false;
  bool is_known_to_engine_ = false;
  websocket::close_reason close_reason_;
};

// ---- HTTP.

void WebSession::start() {
  parser_.emplace();
  parser_->header_limit(host_.limits.http_header_bytes_max);
  beast::get_lowest_layer(stream_).expires_after(host_.limits.handshake_time_max);
  http::async_read_header(
      stream_.next_layer(), buffer_, *parser_,
      [self = me()](ErrorCodeOf error, std::size_t) { self->head_read(error); });
}

void WebSession::head_read(ErrorCodeOf error) {
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
  const auto& request = parser_->get();
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
  head.is_upgrade = websocket::is_upgrade(request);
  if (is_refused_) {
    answer(HttpRouter::refusal(503, ErrorCode::Unavailable,
                               "connection_count_max: the server has " +
                                   std::to_string(host_.limits.connection_count_max) +
                                   " connections",
                               kFullRetryMs));
    return;
  }
  const auto decision = host_.router->decide(head, host_.is_shutting_down);
  if (const auto* refusal = std::get_if<HttpAnswer>(&decision)) {
    answer(*refusal);
  } else if (buffer_.size() > 0) {
    answer(HttpRouter::refusal(400, ErrorCode::InvalidArgument,
                               "bytes came before the WebSocket was open"));
  } else {
    upgrade();
  }
}

void WebSession::answer(const HttpAnswer& answer) {
  response_.emplace(static_cast<http::status>(answer.status), 11);
  response_->set(http::field::server, "quire/" QUIRE_VERSION);
  response_->set(http::field::content_type, "application/json");
  response_->set(http::field::connection, "close");
  response_->set(http::field::cache_control, "no-store");
  for (const auto& [name, value] : answer.headers) response_->set(name, value);
  response_->content_length(answer.body.size());
  if (parser_->get().method() != http::verb::head) response_->body() = answer.body;
  beast::get_lowest_layer(stream_).expires_after(host_.limits.handshake_time_max);
  http::async_write(stream_.next_layer(), *response_,
                    [self = me()](ErrorCodeOf error, std::size_t) {
                      if (error) {
                        self->finish();
                      } else {
                        ErrorCodeOf ignored;
                        beast::get_lowest_layer(self->stream_)
                            .socket()
                            .shutdown(tcp::socket::shutdown_send, ignored);
                        beast::get_lowest_layer(self->stream_).expires_after(kDiscardTimeMax);
                        self->discard_rest();
                      }
                    });
}

// Closing a socket with unread bytes would take back the answer.
void WebSession::discard_rest() {
  buffer_.clear();
  stream_.next_layer().async_read_some(buffer_.prepare(kReadBytes / 4),
                                       [self = me()](ErrorCodeOf error, std::size_t bytes) {
                                         self->discarded_bytes_ += bytes;
                                         if (error || self->discarded_bytes_ > kDiscardBytesMax) {
                                           self->finish();
                                         } else {
                                           self->discard_rest();
                                         }
                                       });
}

void WebSession::upgrade() {
  beast::get_lowest_layer(stream_).expires_never();
  stream_.set_option(websocket::stream_base::timeout{host_.limits.handshake_time_max,
                                                     host_.limits.idle_time_max, true});
  stream_.set_option(websocket::stream_base::decorator([](websocket::response_type& response) {
    response.set(http::field::server, "quire/" QUIRE_VERSION);
    response.set(http::field::sec_websocket_protocol, wire::kSubprotocol);
  }));
  stream_.read_message_max(wire::kFrameBytesMax);
  stream_.auto_fragment(false);
  stream_.async_accept(parser_->get(), [self = me()](ErrorCodeOf error) {
    self->parser_.reset();
    if (error) {
      self->finish();
      return;
    }
    self->is_open_ = true;
    self->write_next();
    if (!self->is_closing_) self->read();
  });
}

// ---- Reading.

// Events do not count: they have a bound of their own, and a client must be heard beside a flood.
bool WebSession::must_pause() const {
  const SocketLimits& limits = host_.limits;
  return pending_count_ >= limits.pending_request_count_max ||
         pending_bytes_ >= limits.pending_request_bytes_max ||
         reply_bytes_ >= limits.unwritten_bytes_max || !host_.has_slot();
}

void WebSession::read() {
  if (must_pause()) {
    is_paused_ = true;
    // While nothing is read, silence says nothing of the client. Behind the ping at its half, to
    // which no answer would be seen, Beast waits for the other half.
    set_idle_time(2 * host_.limits.stalled_time_max);
    if (!std::exchange(is_listed_, true)) host_.pause(me());
    return;
  }
  is_reading_ = true;
  stream_.async_read_some(buffer_, kReadBytes, [self = me()](ErrorCodeOf error, std::size_t) {
    self->is_reading_ = false;
    self->part_read(error);
  });
}

void WebSession::read_again() {
  if (!std::exchange(is_paused_, false) || !is_open_ || is_closing_) return;
  set_idle_time(host_.limits.idle_time_max);
  read();
}

// From the next time on that Beast's timer is set, which was at most half of the idle time ago.
void WebSession::set_idle_time(std::chrono::milliseconds time_max) {
  websocket::stream_base::timeout timeouts;
  stream_.get_option(timeouts);
  timeouts.idle_timeout = time_max;
  stream_.set_option(timeouts);
}

void WebSession::part_read(ErrorCodeOf error) {
  if (error) {
    finish();
    return;
  }
  if (is_closing_) return;
  host_.partial_bytes -= std::exchange(partial_bytes_, 0);
  if (stream_.is_message_done()) {
    take_message();
    buffer_.clear();
    if (buffer_.capacity() > kReadBytes) buffer_.shrink_to_fit();
  } else if (buffer_.size() > kReadBytes) {
    partial_bytes_ = buffer_.size();
    host_.partial_bytes += partial_bytes_;
    // Room for the rest of the frame at once: growing step by step copies it as often again.
    buffer_.reserve(buffer_.size() + stream_.read_size_hint(kReadBytes));
    if (host_.partial_bytes > host_.limits.partial_frame_bytes_total_max) {
      close_after_writes(websocket::close_code::try_again_later,
                         "partial_frame_bytes_total_max: too many frames are half sent");
    }
  }
  if (!is_closing_) read();
}

void WebSession::take_message() {
  const auto bytes = buffer_.data();
  const std::string_view view(static_cast<const char*>(bytes.data()), bytes.size());
  wire::DecodedRequest decoded = wire::decode_request(stream_.got_binary(), view);
  if (!decoded.request.ok()) {
    refuse(decoded.id, decoded.request.error());
  } else {
    take_request(std::move(decoded.request).take(), view.size());
  }
}

void WebSession::refuse(std::uint64_t id, const Error& error,
                        std::optional<std::uint64_t> retry_after_ms) {
  if (id != 0) {
    wire::Failure failure{error.code(), std::string(error.message()), retry_after_ms};
    write(wire::Reply{id, std::move(failure)}, 0);
    return;
  }
  write(wire::ErrorEvent{error.code(), std::string(error.message())}, 0);
  close_after_writes(websocket::close_code::policy_error, "a frame without a readable id");
}

void WebSession::take_request(wire::Request request, std::uint64_t bytes) {
  Inbound inbound{connection_, {}, bytes};
  if (const auto* part = std::get_if<wire::Upload>(&request.body)) {
    auto program = upload_.add(*part, std::chrono::steady_clock::now());
    if (!program.ok()) {
      const bool is_full = program.error().code() == ErrorCode::QuotaExceeded;
      refuse(request.id, program.error(), is_full ? std::optional(kFullRetryMs) : std::nullopt);
      return;
    }
    if (!program.value()) {
      write(wire::Reply{request.id, wire::ProgramReply{part->program, wire::ProgramState::Partial,
                                                       upload_.received_bytes()}},
            0);
      return;
    }
    inbound.body = ProgramBytes{request.id, part->program, *std::move(program.value())};
    inbound.bytes = part->program_bytes;
  } else {
    inbound.body = std::move(request);
  }
  pending_count_ += 1;
  pending_bytes_ += inbound.bytes;
  is_known_to_engine_ = true;
  host_.send(std::move(inbound));
}

// ---- Writing.

void WebSession::write(wire::ServerFrame frame, std::uint64_t charge) {
  if (is_finished_) return;
  queue_.push_back({std::move(frame), charge});
  charged_bytes_ += charge;
  reply_bytes_ += queue_.back().reply_bytes();
  write_next();
}

void WebSession::write_next() {
  if (is_writing_ || !is_open_ || is_close_sent_) return;
  if (queue_.empty()) {
    if (is_closing_) close();
    return;
  }
  is_writing_ = true;
  if (queue_.size() > 1) hold_back(true);
  current_ = wire::encode(queue_.front().frame);
  stream_.binary(current_.is_binary);
  stream_.async_write(asio::buffer(current_.bytes),
                      [self = me()](ErrorCodeOf error, std::size_t) { self->written(error); });
}

// Frames that wait for one another leave in one packet, behind which the peer wakes up once: the
// kernel keeps what is written until the last of them is.
void WebSession::hold_back(bool is_held) {
  if (std::exchange(is_held_back_, is_held) == is_held) return;
  held_back_count_ = 0;
  const int value = is_held ? 1 : 0;
  // Where it fails they leave in a packet each.
  (void)setsockopt(beast::get_lowest_layer(stream_).socket().native_handle(), IPPROTO_TCP, TCP_CORK,
                   &value, sizeof value);
}

void WebSession::written(ErrorCodeOf error) {
  is_writing_ = false;
  if (error) {
    finish();
    return;
  }
  charged_bytes_ -= queue_.front().charge;
  reply_bytes_ -= queue_.front().reply_bytes();
  connection_->written_bytes.fetch_add(queue_.front().charge);
  queue_.pop_front();
  if (queue_.empty() || ++held_back_count_ >= kHeldBackCountMax) hold_back(false);
  if (charged_bytes_ <= host_.limits.unwritten_bytes_max / 2 &&
      connection_->engine_waits.exchange(false)) {
    host_.link.engine_wakeup.notify();
  }
  if (current_.bytes.capacity() > kReadBytes) current_ = {};
  write_next();
  if (!must_pause()) read_again();
}

// ---- Closing.

void WebSession::close_after_writes(websocket::close_code code, const std::string& reason) {
  if (std::exchange(is_closing_, true)) return;
  close_reason_ = websocket::close_reason(code, reason);
  write_next();
}

void WebSession::close() {
  if (std::exchange(is_close_sent_, true)) return;
  stream_.async_close(close_reason_, [self = me()](ErrorCodeOf) { self->finish(); });
}

void WebSession::finish() {
  if (std::exchange(is_finished_, true)) return;
  is_open_ = false;
  is_closing_ = true;
  host_.partial_bytes -= std::exchange(partial_bytes_, 0);
  if (!is_writing_) queue_.clear();
  beast::get_lowest_layer(stream_).close();
  host_.closed(*this);
}

}  // namespace

SessionHandle make_session(SessionHost& host, Socket socket, ConnectionId id, bool is_refused) {
  return std::make_shared<WebSession>(host, std::move(socket), id, is_refused);
}

}  // namespace quire::server
