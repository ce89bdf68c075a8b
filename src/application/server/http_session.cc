#include "application/server/http_session.h"

#include <utility>  // Before Asio.

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/status.hpp>
#include <chrono>
#include <string>

#include "application/server/body_decoder.h"
#include "application/server/error_forms.h"
#include "application/server/http_reader.h"
#include "application/server/response_framing.h"
#include "application/server/websocket_session.h"
#include "base/check.h"
#include "base/utf8.h"
#include "base/wipe.h"

namespace quire::server {
namespace {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;
using ErrorCodeOf = boost::system::error_code;

constexpr std::size_t kReadBytes = 16u << 10;   // At once,
constexpr std::size_t kHeadReadBytes = 2048;    // and of a connection that may be idle.
constexpr std::size_t kTimedBytes = 64u << 10;  // Of a body or a response, within *_part_time_max.
constexpr std::chrono::milliseconds kDiscardTimeMax{1'000};
// The server drops so much of a body that it refused: many clients read the answer only when all is sent.
constexpr std::size_t kDiscardBytesMax = 16u << 20;

// The refusal of a body whose coding no decoder takes off, with those that are taken.
HttpAnswer coding_refusal(const HttpHead& head) {
  std::string given;
  for (const std::string& each : head.codings) given += (given.empty() ? "" : ", ") + each;
  HttpAnswer answer =
      refusal_for(name_of(head), 415, ErrorCode::NotSupported,
                  "Content-Encoding " + in_quotes(given) +
                      ": the body may have one of these codings, or none: " + kContentCodings);
  answer.headers.emplace_back("Accept-Encoding", kContentCodings);
  return answer;
}

// The lines of a head, but those that are no longer right once the body is decoded.
std::string without_coding(std::string_view lines) {
  std::string kept;
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\n') + 1);
    lines.remove_prefix(line.size());
    if (!line.starts_with("content-encoding:") && !line.starts_with("content-length:")) {
      kept += line;
    }
  }
  return kept;
}

HttpAnswer full_refusal(const SocketLimits& limits) {
  return HttpRouter::refusal(503, ErrorCode::Unavailable,
                             "connection_count_max: the server has " +
                                 std::to_string(limits.connection_count_max) + " connections",
                             kFullRetryMs);
}

// On a server without keys, no client has shown one.
ConnectionTable::Key key_shown(const service::PrincipalHandle& holder) {
  if (holder == nullptr) return ConnectionTable::Key::None;
  return service::may(*holder, service::Right::Operate) ? ConnectionTable::Key::Operates
                                                        : ConnectionTable::Key::Known;
}

class HttpSession final : public Session, public std::enable_shared_from_this<HttpSession> {
 public:
  HttpSession(SessionHost& host, Socket socket, ConnectionId id, bool is_reserve)
      : host_(host),
        connection_(std::make_shared<Connection>(id)),
        stream_(std::move(socket), host.tls),
        read_timer_(stream_.get_executor()),
        write_timer_(stream_.get_executor()),
        reader_({host.limits.http_header_bytes_max, host.limits.request_body_bytes_max}),
        is_on_trial_(is_reserve) {}
  ~HttpSession() override { wipe(head_.target); }

  void start() override;
  void resume() override {
    is_listed_ = false;
    advance();
  }
  void write(wire::ServerFrame, std::uint64_t) override {
    QUIRE_CHECK(false, "frames are for WebSockets");
  }
  void write(HttpFrame frame, std::uint64_t charge) override;
  void answered(std::uint64_t) override {}
  void close_after_writes() override;
  void finish() override;
  void revoke(KeyGone) override {}  // Each request is checked by itself.
  const ConnectionHandle& connection() const override { return connection_; }
  bool is_open() const override { return false; }
  bool is_known_to_engine() const override { return is_known_to_engine_; }

 private:
  enum class Phase : std::uint8_t {
    Head,      // Reads the head of a request.
    Endpoint,  // A program answers the request.
    Answered,  // The response is queued whole: the next request comes once it was written.
    Discard,   // All was written; what the client still sends is not read.
    Over,      // Finished, or upgraded.
  };

  auto me() { return shared_from_this(); }
  void await_next_head();
  void advance();
  void read_more();
  void have_read(ErrorCodeOf error, std::size_t bytes);
  void take_head();
  void route(HttpHead head);
  void follow(const Route& route);
  bool begin_at_engine();
  void begin_endpoint(const ToEndpoint& endpoint);
  void begin_adapters(const ToAdapters& adapters);
  void begin_request(HttpRequest request);
  void begin_metrics();
  bool begin_decoding();
  std::variant<MoreNeeded, BodyPart, HttpProblem> read_part();
  bool is_body_whole() const { return reader_.is_body_whole() && decoder_ == nullptr; }
  void give_part();
  void count_part(const BodyPart& part);
  void fail(const HttpProblem& problem);
  void answer(const HttpAnswer& answer, bool is_last = false);
  void take(HttpAsk);
  void take(const HttpAnswer& answer);
  void take(const HttpResponseHead& head);
  void take(const HttpResponsePart& part);
  void take(const HttpResponseEnd& end);
  void queue(std::string_view bytes);
  void write_next();
  void have_written(ErrorCodeOf error, std::size_t bytes);
  void all_written();
  void request_over();
  void discard_rest();
  void upgrade();
  bool keeps() const;
  void expire_reading(std::chrono::nanoseconds time);
  void reading_expired();
  void expire_writing();

  SessionHost& host_;
  const ConnectionHandle connection_;
  ConnectionStream stream_;
  asio::steady_timer read_timer_;
  asio::steady_timer write_timer_;
  HttpReader reader_;
  WipedString received_;                     // What is being read from the socket.
  HttpHead head_;                            // Of the request that is answered.
  std::unique_ptr<BodyDecoder> decoder_;     // Until the last part of a body that has a coding.
  std::optional<ResponseFraming> response_;  // Since the head of the response was queued.
  std::string queued_;                       // To be written after `current_`,
  std::string current_;                      // which is being written, from current_at_ on.
  std::size_t current_at_ = 0;
  std::uint64_t queued_charge_ = 0;
  std::uint64_t current_charge_ = 0;
  std::size_t discarded_bytes_ = 0;
  // Bytes of the body since its last 64 KiB, and what is left of body_part_time_max for them.
  std::size_t body_bytes_ = 0;
  std::chrono::nanoseconds body_time_left_{};
  std::size_t written_bytes_ = kTimedBytes;  // Of the response, since write_timer_ was set.
  Phase phase_ = Phase::Head;
  bool is_reading_ = false;
  bool is_writing_ = false;
  bool is_listed_ = false;  // By the host among the paused.
  bool is_part_wanted_ = false;
  bool has_continued_ = false;  // The client was asked for a body that waited for that.
  bool may_keep_ = false;       // Another request may follow this one.
  bool is_idle_ = false;        // A response was written, and nothing of the next request came.
  bool is_known_to_engine_ = false;
  bool is_closing_ = false;  // The server goes.
  bool is_on_trial_;         // Of the reserve, and has shown no key that may operate.
};

// ---- Reading.

void HttpSession::start() {
  expire_reading(is_on_trial_ ? host_.limits.reserve_time_max : host_.limits.handshake_time_max);
  if (!stream_.has_tls()) return advance();
  stream_.async_handshake(asio::ssl::stream_base::server, [self = me()](ErrorCodeOf error) {
    if (self->phase_ == Phase::Over) return;
    if (error) {
      self->finish();
    } else {
      if (!self->is_on_trial_) self->expire_reading(self->host_.limits.handshake_time_max);
      self->advance();
    }
  });
}

// A connection that had a request may be idle for longer than one that never had any.
void HttpSession::await_next_head() {
  phase_ = Phase::Head;
  wipe(head_.target);  // Its query may hold a key.
  head_ = {};
  decoder_.reset();
  response_.reset();
  is_idle_ = !reader_.has_bytes();
  host_.connections->request_over(connection_->id);
  if (!is_idle_) host_.connections->head_begun(connection_->id);
  expire_reading(is_idle_ ? host_.limits.keep_alive_time_max : host_.limits.handshake_time_max);
  advance();
}

void HttpSession::expire_reading(std::chrono::nanoseconds time) {
  read_timer_.expires_after(time);
  read_timer_.async_wait([self = me()](ErrorCodeOf cancelled) {
    if (!cancelled) self->reading_expired();
  });
}

void HttpSession::reading_expired() {
  // A timer that ran out as it was set anew.
  if (read_timer_.expiry() > std::chrono::steady_clock::now()) return;
  if (is_on_trial_ && phase_ == Phase::Head) host_.connections->head_expired(connection_->id);
  const bool may_answer = phase_ == Phase::Endpoint && is_part_wanted_ && !response_;
  if (phase_ == Phase::Endpoint && !is_part_wanted_) return;
  if (!may_answer) {
    finish();
    return;
  }
  fail({408, ErrorCode::Timeout,
        "body_part_time_max: no 64 KiB of the body, nor its rest, came in " +
            std::to_string(host_.limits.body_part_time_max.count()) + " ms"});
}

// Does what the received bytes allow, then reads more. A request is answered before the next is
// looked at, and reading goes on meanwhile: so a client that goes is noticed.
void HttpSession::advance() {
  if (phase_ == Phase::Head) take_head();
  if (phase_ == Phase::Endpoint && is_part_wanted_) give_part();
  if (phase_ == Phase::Head || phase_ == Phase::Endpoint) read_more();
}

void HttpSession::read_more() {
  if (is_reading_ || !reader_.has_room()) return;
  is_reading_ = true;
  // Not into the reader's own buffer: what is taken out of that meanwhile would move it.
  received_.resize(phase_ == Phase::Head ? kHeadReadBytes : kReadBytes);
  stream_.async_read_some(asio::buffer(received_),
                          [self = me()](ErrorCodeOf error, std::size_t bytes) {
                            self->have_read(error, bytes);
                            wipe_stack();  // A head that is not whole may have a key already.
                          });
}

void HttpSession::have_read(ErrorCodeOf error, std::size_t bytes) {
  is_reading_ = false;
  const bool is_for_reader = !error && phase_ != Phase::Discard && phase_ != Phase::Over;
  if (is_for_reader) reader_.add(std::string_view(received_).substr(0, bytes));
  wipe(received_.data(), bytes);  // A key may be in it.
  if (phase_ == Phase::Over) return;
  if (phase_ == Phase::Discard) {
    discarded_bytes_ += bytes;
    if (error || discarded_bytes_ > kDiscardBytesMax) {
      finish();
    } else {
      discard_rest();
    }
    return;
  }
  if (error) {
    // An answer that is queued is still written: the client may have ended its side alone.
    if (phase_ != Phase::Answered) finish();
    may_keep_ = false;
    return;
  }
  if (std::exchange(is_idle_, false)) {
    host_.connections->head_begun(connection_->id);
    expire_reading(host_.limits.handshake_time_max);
  }
  advance();
}

void HttpSession::take_head() {
  auto read = reader_.read_head();
  if (std::holds_alternative<MoreNeeded>(read)) return;
  if (const auto* problem = std::get_if<HttpProblem>(&read)) {
    fail(*problem);
    return;
  }
  route(std::get<HttpHead>(std::move(read)));
  wipe_stack();
}

void HttpSession::route(HttpHead head) {
  head_ = std::move(head);
  if (!is_request_id(head_.request_id)) head_.request_id = host_.new_request_id();
  head_.lines += "x-request-id: " + head_.request_id + "\n";
  has_continued_ = false;
  is_part_wanted_ = false;
  body_bytes_ = 0;
  body_time_left_ = host_.limits.body_part_time_max;
  // If a body is not read, or an upgrade is refused, the next bytes could be read as a request that
  // another client wrote.
  may_keep_ = head_.keeps_alive && !head_.has_body && !head_.is_upgrade;
  const Decision decision = host_.router->decide(head_, host_.readiness(path_of(head_)));
  if (decision.refused_key) host_.key_refused(*decision.refused_key, stream_.socket());
  is_on_trial_ = !host_.connections->head_read(connection_->id, key_shown(decision.key_holder));
  if (is_on_trial_ && path_of(head_) != "/health/live") {
    answer(full_refusal(host_.limits), true);
  } else {
    follow(decision.route);
  }
  // Assigning to a text would leave its bytes where they are.
  const Credentials dropped = std::move(head_.credentials);
}

void HttpSession::follow(const Route& route) {
  if (const auto* given = std::get_if<HttpAnswer>(&route)) {
    // A client without a known key keeps no place: the next one has to ask for it anew.
    answer(*given, is_on_trial_ || given->status == 401);
  } else if (const auto* endpoint = std::get_if<ToEndpoint>(&route)) {
    connection_->tenant = endpoint->caller->tenant;
    begin_endpoint(*endpoint);
  } else if (const auto* adapters = std::get_if<ToAdapters>(&route)) {
    connection_->tenant = adapters->caller->tenant;
    begin_adapters(*adapters);
  } else if (std::holds_alternative<ToMetrics>(route)) {
    begin_metrics();
  } else if (reader_.has_bytes()) {
    answer(HttpRouter::refusal(400, ErrorCode::InvalidArgument,
                               "bytes came before the WebSocket was open"));
  } else if (is_known_to_engine_) {
    answer(HttpRouter::refusal(400, ErrorCode::InvalidArgument,
                               "a WebSocket needs a connection of its own: this one had requests "
                               "to endpoints"));
  } else {
    connection_->caller = std::get<Upgrade>(route).caller;
    connection_->tenant = connection_->caller->tenant;
    upgrade();
  }
}

// ---- A request to an endpoint.

// The engine answers. False if it has too much to look at, and the request was refused.
bool HttpSession::begin_at_engine() {
  if (!host_.has_slot(connection_->tenant)) {
    answer(HttpRouter::refusal(503, ErrorCode::Unavailable,
                               "pending_request_count_total_max: the server has too many requests "
                               "that it has not looked at",
                               kFullRetryMs));
    return false;
  }
  phase_ = Phase::Endpoint;
  host_.connections->request_begun(connection_->id);
  read_timer_.cancel();
  return true;
}

void HttpSession::begin_metrics() {
  if (!begin_at_engine()) return;
  is_known_to_engine_ = true;
  host_.send({connection_, MetricsRequest{}, 0});
}

// The program gets the body without its coding, and a head that says nothing of it. False if the coding is not one
// that can be taken off, and the request was refused.
bool HttpSession::begin_decoding() {
  const std::optional<ContentCoding> coding = content_coding_of(head_.codings);
  if (!coding) {
    answer(coding_refusal(head_));
    return false;
  }
  if (*coding == ContentCoding::Identity) return true;
  decoder_ = std::make_unique<BodyDecoder>(
      *coding,
      BodyDecoderLimits{host_.limits.request_body_bytes_max, host_.limits.decompression_ratio_max});
  head_.lines = without_coding(head_.lines);
  return true;
}

// The next part of the body as the program gets it.
std::variant<MoreNeeded, BodyPart, HttpProblem> HttpSession::read_part() {
  if (decoder_ == nullptr) return reader_.read_part();
  while (true) {
    auto decoded = decoder_->take();
    if (!std::holds_alternative<MoreNeeded>(decoded)) {
      const auto* part = std::get_if<BodyPart>(&decoded);
      if (part != nullptr && part->is_last) decoder_.reset();  // A response may take minutes.
      return decoded;
    }
    auto sent = reader_.read_part();
    auto* part = std::get_if<BodyPart>(&sent);
    if (part == nullptr) return sent;
    decoder_->add(std::move(*part));
  }
}

void HttpSession::begin_endpoint(const ToEndpoint& endpoint) {
  if (endpoint.rule->decodes_bodies && head_.has_body && !begin_decoding()) return;
  HttpRequest request;
  request.rule = endpoint.rule;
  request.caller = endpoint.caller;
  begin_request(std::move(request));
}

void HttpSession::begin_adapters(const ToAdapters& adapters) {
  if (head_.has_body && !begin_decoding()) return;
  HttpRequest request;
  request.form = adapters.form;
  request.caller = adapters.caller;
  begin_request(std::move(request));
}

// With the first part of the body, if that came with the head.
void HttpSession::begin_request(HttpRequest request) {
  if (!begin_at_engine()) return;
  may_keep_ = head_.keeps_alive;
  request.method = head_.method;
  request.target = head_.target;
  request.lines = head_.lines;
  // A program must not get the key of its caller.
  if (!host_.router->has_keys()) request.lines += head_.credentials.lines;
  request.request_id = head_.request_id;
  request.is_body_whole = !head_.has_body;
  request.awaits_continue = head_.has_body && head_.expectation == "100-continue";
  if (head_.has_body && !request.awaits_continue && reader_.has_bytes()) {
    auto read = read_part();
    if (const auto* problem = std::get_if<HttpProblem>(&read)) {
      fail(*problem);
      return;
    }
    if (auto* part = std::get_if<BodyPart>(&read)) {
      request.body = std::move(part->bytes);
      request.is_body_whole = part->is_last;
    }
  }
  const std::uint64_t bytes = request.lines.size() + request.body.size();
  is_known_to_engine_ = true;
  host_.send({connection_, std::move(request), bytes});
}

void HttpSession::take(HttpAsk) {
  is_part_wanted_ = true;
  if (head_.expectation == "100-continue" && !std::exchange(has_continued_, true) &&
      !head_.is_http_1_0) {
    queue("HTTP/1.1 100 Continue\r\n\r\n");
  }
  expire_reading(body_time_left_);
  advance();
}

// A client that sends a byte now and then does not get the whole time anew for each.
void HttpSession::count_part(const BodyPart& part) {
  body_bytes_ += part.bytes.size();
  if (body_bytes_ >= kTimedBytes) {
    body_bytes_ = 0;
    body_time_left_ = host_.limits.body_part_time_max;
  } else {
    body_time_left_ = std::max<std::chrono::nanoseconds>(
        read_timer_.expiry() - std::chrono::steady_clock::now(), std::chrono::nanoseconds(0));
  }
}

void HttpSession::give_part() {
  if (!host_.has_slot(connection_->tenant)) {
    if (!std::exchange(is_listed_, true)) host_.pause(me());
    return;
  }
  auto read = read_part();
  if (const auto* problem = std::get_if<HttpProblem>(&read)) {
    fail(*problem);
  } else if (auto* part = std::get_if<BodyPart>(&read)) {
    is_part_wanted_ = false;
    count_part(*part);
    read_timer_.cancel();
    const std::uint64_t bytes = part->bytes.size();
    host_.send({connection_, HttpBodyPart{std::move(part->bytes), part->is_last}, bytes});
  }
}

// The client's bytes cannot be read any further. A response that has begun can only be broken off.
void HttpSession::fail(const HttpProblem& problem) {
  may_keep_ = false;
  if (response_) {
    finish();
    return;
  }
  answer(refusal_for(name_of(head_), problem.status, problem.code, problem.message), true);
}

bool HttpSession::keeps() const {
  return may_keep_ && is_body_whole() && !host_.is_shutting_down && !is_closing_;
}

// An answer that is whole, of this thread or for a program that gave none.
void HttpSession::answer(const HttpAnswer& answer, bool is_last) {
  std::string lines;
  for (const auto& [name, value] : answer.headers) lines += name + ": " + value + "\n";
  if (answer.status != 204) lines += std::string("Content-Type: ") + answer.content_type + "\n";
  lines += "Cache-Control: no-store\ncontent-length: " + std::to_string(answer.body.size()) + "\n";
  // A request that this thread answers is over at once, even if the client reads no answer.
  if (phase_ == Phase::Head) host_.connections->request_over(connection_->id);
  phase_ = Phase::Answered;
  read_timer_.cancel();
  may_keep_ = may_keep_ && !is_last;
  response_.emplace(head_, answer.status, keeps());
  may_keep_ = response_->keeps_for(lines);
  queue(response_->head(lines, host_.router->origin_headers(head_)) + response_->part(answer.body));
}

// ---- What the engine says.

void HttpSession::write(HttpFrame frame, std::uint64_t charge) {
  queued_charge_ += charge;
  if (phase_ == Phase::Endpoint) {
    std::visit([this](const auto& each) { take(each); }, frame);
  }
  write_next();
}

void HttpSession::take(const HttpAnswer& given) {
  answer(given);
}

void HttpSession::take(const HttpResponseHead& head) {
  // A body that is not whole yet is not waited for, so the connection ends with the response.
  response_.emplace(head_, head.status, keeps());
  may_keep_ = response_->keeps_for(head.lines);
  queue(response_->head(head.lines, host_.router->origin_headers(head_)));
}

void HttpSession::take(const HttpResponsePart& part) {
  queue(response_->part(part.bytes));
}

void HttpSession::take(const HttpResponseEnd& end) {
  phase_ = Phase::Answered;
  read_timer_.cancel();
  if (!end.is_whole) {
    response_->break_off();
    may_keep_ = false;
  }
  queue(end.is_whole ? response_->end() : "");
}

// ---- Writing.

void HttpSession::queue(std::string_view bytes) {
  queued_ += bytes;
  write_next();
}

void HttpSession::write_next() {
  if (is_writing_ || phase_ == Phase::Over) return;
  if (current_at_ == current_.size()) {
    connection_->written_bytes.fetch_add(std::exchange(current_charge_, 0));
    if (queued_.empty()) {
      connection_->written_bytes.fetch_add(std::exchange(queued_charge_, 0));
    }
    if (connection_->engine_waits.exchange(false)) host_.link.engine_wakeup.notify();
    current_ = std::exchange(queued_, {});
    current_charge_ = std::exchange(queued_charge_, 0);
    current_at_ = 0;
    if (current_.empty()) {
      write_timer_.cancel();
      written_bytes_ = kTimedBytes;  // The next write has all the time.
      if (phase_ == Phase::Answered || is_closing_) all_written();
      return;
    }
  }
  is_writing_ = true;
  if (written_bytes_ >= kTimedBytes) expire_writing();
  const std::size_t bytes = std::min(kTimedBytes, current_.size() - current_at_);
  stream_.async_write_some(
      asio::buffer(current_.data() + current_at_, bytes),
      [self = me()](ErrorCodeOf error, std::size_t count) { self->have_written(error, count); });
}

// A client that takes a little now and then does not get the whole time anew for each.
void HttpSession::expire_writing() {
  written_bytes_ = 0;
  write_timer_.expires_after(host_.limits.response_part_time_max);
  write_timer_.async_wait([self = me()](ErrorCodeOf cancelled) {
    const bool is_late = self->write_timer_.expiry() <= std::chrono::steady_clock::now();
    if (!cancelled && is_late && self->is_writing_) self->finish();
  });
}

void HttpSession::have_written(ErrorCodeOf error, std::size_t bytes) {
  is_writing_ = false;
  if (phase_ == Phase::Over) return;
  if (error) {
    finish();
    return;
  }
  current_at_ += bytes;
  written_bytes_ += bytes;
  write_next();
}

// The response has left.
void HttpSession::all_written() {
  if (is_closing_ || (response_ && response_->is_broken_off())) {
    finish();
  } else if (may_keep_ && !host_.is_shutting_down) {
    await_next_head();
  } else {
    phase_ = Phase::Discard;
    host_.connections->request_over(connection_->id);
    stream_.async_end_writing([self = me()](ErrorCodeOf) {});  // What follows is not read.
    expire_reading(kDiscardTimeMax);
    discard_rest();
  }
}

// Closing a socket with unread bytes would take back the answer. TLS records are discarded unread,
// because OpenSSL reads none after it has sent its own end.
void HttpSession::discard_rest() {
  if (is_reading_) return;
  is_reading_ = true;
  received_.resize(kReadBytes);
  stream_.socket().async_read_some(
      asio::buffer(received_),
      [self = me()](ErrorCodeOf error, std::size_t bytes) { self->have_read(error, bytes); });
}

// The socket goes on as a WebSocket. To the host this session is replaced, and not closed.
void HttpSession::upgrade() {
  phase_ = Phase::Over;
  read_timer_.cancel();
  const SessionHandle next =
      make_websocket_session(host_, std::move(stream_), connection_, reader_.take_upgrade());
  host_.upgraded(next);
  next->start();
}

void HttpSession::close_after_writes() {
  is_closing_ = true;
  if (!is_writing_) finish();
}

void HttpSession::finish() {
  if (std::exchange(phase_, Phase::Over) == Phase::Over) return;
  read_timer_.cancel();
  write_timer_.cancel();
  stream_.close();
  host_.closed(*this);
}

}  // namespace

SessionHandle make_http_session(SessionHost& host, Socket socket, ConnectionId id,
                                bool is_reserve) {
  return std::make_shared<HttpSession>(host, std::move(socket), id, is_reserve);
}

}  // namespace quire::server
