#include "application/server/websocket_session.h"

#include <utility>  // Before Asio.

#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/websocket.hpp>
#include <chrono>
#include <deque>
#include <string>

#include "application/server/caller_gate.h"
#include "base/check.h"
#include "wire/frame_codec.h"

namespace quire::server {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace websocket = beast::websocket;
using tcp = asio::ip::tcp;
using ErrorCodeOf = boost::system::error_code;

constexpr std::size_t kFrameReadBytes = 64u << 10;  // At once; larger buffers are given back.
constexpr std::uint32_t kHeldBackCountMax = 64;     // Frames that may wait for one another.
constexpr std::uint64_t kOwnFrameBytes = 1024;      // About what a reply of this thread takes.

class WebSocketSession final : public Session,
                               public std::enable_shared_from_this<WebSocketSession> {
 public:
  WebSocketSession(SessionHost& host, ConnectionStream stream, ConnectionHandle connection,
                   UpgradeRequest request)
      : host_(host),
        connection_(std::move(connection)),
        stream_(std::move(stream)),
        request_(std::move(request)),
        uploads_(host, connection_->tenant),
        partial_frame_(*this) {}

  void start() override;
  void resume() override {
    is_listed_ = false;
    read_again();
  }
  void write(wire::ServerFrame frame, std::uint64_t charge) override;
  void write(HttpFrame, std::uint64_t) override {
    QUIRE_CHECK(false, "a WebSocket has no request to an endpoint");
  }
  void answered(std::uint64_t request_bytes) override {
    pending_count_ -= 1;
    pending_bytes_ -= request_bytes;
  }
  void close_after_writes() override {
    if (phase_ == Phase::Opening) return finish();
    close_after_writes(websocket::close_code::going_away, "the server is shutting down");
  }
  void finish() override;
  void revoke(KeyGone how) override;
  const ConnectionHandle& connection() const override { return connection_; }
  bool is_open() const override { return phase_ != Phase::Opening && phase_ != Phase::Finished; }
  bool is_known_to_engine() const override { return is_known_to_engine_; }

 private:
  enum class Phase : std::uint8_t {
    Opening,
    Open,
    Closing,    // Reads no more, and closes once all that is queued was written.
    CloseSent,  // Waits for the client's farewell.
    Finished,
  };
  struct Item {
    wire::ServerFrame frame;
    std::uint64_t charge = 0;
    // The bytes of a reply. An event, which the engine charges, is not one: no client asked for it.
    std::uint64_t reply_bytes() const {
      const bool is_event = charge != 0 && !std::holds_alternative<wire::Reply>(frame);
      return is_event ? 0 : std::max(charge, kOwnFrameBytes);
    }
  };

  auto me() { return shared_from_this(); }
  void opened(ErrorCodeOf error);
  void read();
  void read_again();
  void set_idle_time(std::chrono::milliseconds time_max);
  void part_read(ErrorCodeOf error);
  void take_message();
  void refuse(std::uint64_t id, const Error& error,
              std::optional<std::uint64_t> retry_after_ms = std::nullopt);
  void take_request(wire::Request request, std::uint64_t bytes);
  bool take_program_part(std::uint64_t id, const wire::Upload& part, Inbound& inbound);
  bool take_adapter_part(std::uint64_t id, wire::UploadAdapter& part, Inbound& inbound);
  Result<void> check_adapter(const wire::UploadAdapter& part) const;
  void write_next();
  void hold_back(bool is_held);
  void written(ErrorCodeOf error);
  void close_after_writes(websocket::close_code code, const std::string& reason);
  void close();
  bool must_pause() const;

  struct Uploads {
    Uploads(SessionHost& host, control::TenantId tenant)
        : program(host.uploads, tenant,
                  {"program_bytes_max", "a program", host.limits.program_bytes_max}),
          adapter(host.uploads, tenant,
                  {"upload_bytes_total_max", "an adapter", host.limits.upload_bytes_total_max}) {}
    UploadBuffer program;
    UploadBuffer adapter;
  };

  // A frame of which the end is missing.
  class PartialFrame final : public SharedBytes::Holder {
   public:
    explicit PartialFrame(WebSocketSession& session)
        : Holder(session.host_.partial_frames, session.connection_->tenant), session_(session) {}
    void set(std::uint64_t bytes) {
      if (bytes < held_bytes()) give_all();
      if (!take(bytes - held_bytes(), std::chrono::steady_clock::now())) give_way();
    }
    void end() { give_all(); }

   private:
    void give_way() override {
      session_.close_after_writes(
          websocket::close_code::try_again_later,
          "partial_frame_bytes_total_max: the tenant has too many frames half sent");
    }
    WebSocketSession& session_;
  };

  SessionHost& host_;
  const ConnectionHandle connection_;
  // Messages are small: none is compressed, and what could do so is not compiled.
  websocket::stream<ConnectionStream, false> stream_;
  std::optional<UpgradeRequest> request_;  // Until it was answered.
  beast::flat_buffer buffer_;
  Uploads uploads_;
  PartialFrame partial_frame_;
  std::deque<Item> queue_;
  std::uint64_t charged_bytes_ = 0;  // Of the frames in the queue, by the engine.
  std::uint64_t reply_bytes_ = 0;    // Of the replies in the queue.
  wire::Message current_;            // Is being written.
  std::uint64_t pending_count_ = 0;
  std::uint64_t pending_bytes_ = 0;
  std::uint32_t held_back_count_ = 0;  // Frames since `is_held_back_`.
  Phase phase_ = Phase::Opening;
  bool is_paused_ = false;
  bool is_listed_ = false;  // By the host among the paused, perhaps from an earlier pause.
  bool is_writing_ = false;
  bool is_held_back_ = false;
  bool is_known_to_engine_ = false;
  websocket::close_reason close_reason_;
};

// ---- Opening.

void WebSocketSession::start() {
  stream_.set_option(websocket::stream_base::timeout{host_.limits.handshake_time_max,
                                                     host_.limits.idle_time_max, true});
  stream_.set_option(websocket::stream_base::decorator([](websocket::response_type& response) {
    response.set(beast::http::field::server, "quire/" QUIRE_VERSION);
    response.set(beast::http::field::sec_websocket_protocol, wire::kSubprotocol);
  }));
  stream_.read_message_max(wire::kFrameBytesMax);
  stream_.auto_fragment(false);
  stream_.async_accept(*request_, [self = me()](ErrorCodeOf error) { self->opened(error); });
}

void WebSocketSession::opened(ErrorCodeOf error) {
  request_.reset();
  if (error || phase_ != Phase::Opening) {
    finish();
    return;
  }
  phase_ = Phase::Open;
  write_next();
  read();
}

// ---- Reading.

// Events do not count. They have a limit of their own, and a flood must not silence its client.
bool WebSocketSession::must_pause() const {
  const SocketLimits& limits = host_.limits;
  return pending_count_ >= limits.pending_request_count_max ||
         pending_bytes_ >= limits.pending_request_bytes_max ||
         reply_bytes_ >= limits.unwritten_bytes_max || !host_.has_slot(connection_->tenant);
}

void WebSocketSession::read() {
  if (must_pause()) {
    is_paused_ = true;
    // While nothing is read, silence says nothing of the client. Beast sends a ping at half of the
    // time, and waits for the other half, although the server would not see the answer.
    set_idle_time(2 * host_.limits.stalled_time_max);
    if (!std::exchange(is_listed_, true)) host_.pause(me());
    return;
  }
  stream_.async_read_some(buffer_, kFrameReadBytes, [self = me()](ErrorCodeOf error, std::size_t) {
    self->part_read(error);
  });
}

void WebSocketSession::read_again() {
  if (!std::exchange(is_paused_, false) || phase_ != Phase::Open) return;
  set_idle_time(host_.limits.idle_time_max);
  read();
}

// The new time holds once Beast sets its timer again, within half of the old idle time.
void WebSocketSession::set_idle_time(std::chrono::milliseconds time_max) {
  websocket::stream_base::timeout timeouts;
  stream_.get_option(timeouts);
  timeouts.idle_timeout = time_max;
  stream_.set_option(timeouts);
}

void WebSocketSession::part_read(ErrorCodeOf error) {
  if (error) {
    finish();
    return;
  }
  if (phase_ != Phase::Open) return;
  if (stream_.is_message_done()) {
    partial_frame_.end();
    take_message();
    buffer_.clear();
    if (buffer_.capacity() > kFrameReadBytes) buffer_.shrink_to_fit();
  } else if (buffer_.size() > kFrameReadBytes) {
    partial_frame_.set(buffer_.size());
    // Room for the rest of the frame at once: growing step by step copies it as often again.
    buffer_.reserve(buffer_.size() + stream_.read_size_hint(kFrameReadBytes));
  }
  if (phase_ == Phase::Open) read();
}

void WebSocketSession::take_message() {
  // A session may outlive its key, and must begin nothing after that.
  if (host_.has_expired(*connection_->caller)) return revoke(KeyGone::Expired);
  host_.note_use(*connection_->caller);
  const auto bytes = buffer_.data();
  const std::string_view view(static_cast<const char*>(bytes.data()), bytes.size());
  wire::DecodedRequest decoded = wire::decode_request(stream_.got_binary(), view);
  if (!decoded.request.ok()) {
    refuse(decoded.id, decoded.request.error());
  } else {
    take_request(std::move(decoded.request).take(), view.size());
  }
}

void WebSocketSession::refuse(std::uint64_t id, const Error& error,
                              std::optional<std::uint64_t> retry_after_ms) {
  if (id != 0) {
    wire::Failure failure{error.code(), std::string(error.message()), retry_after_ms};
    write(wire::Reply{id, std::move(failure)}, 0);
    return;
  }
  write(wire::ErrorEvent{error.code(), std::string(error.message())}, 0);
  close_after_writes(websocket::close_code::policy_error, "a frame without a readable id");
}

void WebSocketSession::take_request(wire::Request request, std::uint64_t bytes) {
  Inbound inbound{connection_, {}, bytes};
  if (const auto* part = std::get_if<wire::Upload>(&request.body)) {
    if (!take_program_part(request.id, *part, inbound)) return;
  } else if (auto* adapter = std::get_if<wire::UploadAdapter>(&request.body)) {
    if (!take_adapter_part(request.id, *adapter, inbound)) return;
  } else {
    inbound.body = std::move(request);
  }
  pending_count_ += 1;
  pending_bytes_ += inbound.bytes;
  is_known_to_engine_ = true;
  host_.send(std::move(inbound));
}

// True once the program is complete; else there was a reply.
bool WebSocketSession::take_program_part(std::uint64_t id, const wire::Upload& part,
                                         Inbound& inbound) {
  // Before the bytes take room.
  if (const auto denied = denied_to(*connection_->caller, service::Right::Upload)) {
    refuse(id, *denied);
    return false;
  }
  auto program = uploads_.program.add(part, std::chrono::steady_clock::now());
  if (!program.ok()) {
    const bool is_full = program.error().code() == ErrorCode::QuotaExceeded;
    refuse(id, program.error(), is_full ? std::optional(kFullRetryMs) : std::nullopt);
    return false;
  }
  if (!program.value()) {
    write(wire::Reply{id, wire::ProgramReply{part.program, wire::ProgramState::Partial,
                                             uploads_.program.received_bytes()}},
          0);
    return false;
  }
  inbound.body = ProgramBytes{id, part.program, *std::move(program.value())};
  inbound.bytes = part.program_bytes;
  return true;
}

// Whether the adapter may come at all, before its bytes take room.
Result<void> WebSocketSession::check_adapter(const wire::UploadAdapter& part) const {
  // The header of a file takes no memory once it is read.
  constexpr std::uint64_t kHeaderBytes = 1u << 20;
  const service::Principal& caller = *connection_->caller;
  if (const auto denied = denied_to(caller, service::Right::LoadAdapters)) return denied->copy();
  if (host_.link.adapters == nullptr) {
    return Error(ErrorCode::NotSupported, "no model of this server takes adapters");
  }
  if (part.offset > 0) return {};
  const bool is_servers = service::may(caller, service::Right::Operate);
  std::uint64_t bytes = 0;
  for (const wire::UploadedFile& each : part.files) bytes = std::max(bytes, each.bytes);
  return host_.link.adapters->check_room(is_servers ? std::nullopt : std::optional(caller.tenant),
                                         control::called_adapter(part.name).name,
                                         bytes - std::min(bytes, kHeaderBytes));
}

bool WebSocketSession::take_adapter_part(std::uint64_t id, wire::UploadAdapter& part,
                                         Inbound& inbound) {
  if (const Result<void> checked = check_adapter(part); !checked.ok()) {
    refuse(id, checked.error());
    return false;
  }
  const std::uint64_t total = wire::total_bytes(part.files);
  auto bytes = uploads_.adapter.add({part.digest, total, part.offset, std::move(part.bytes)},
                                    std::chrono::steady_clock::now());
  if (!bytes.ok()) {
    const bool is_full = bytes.error().code() == ErrorCode::QuotaExceeded;
    refuse(id, bytes.error(), is_full ? std::optional(kFullRetryMs) : std::nullopt);
    return false;
  }
  if (!bytes.value()) {
    write(wire::Reply{id, wire::Done{}}, 0);
    return false;
  }
  inbound.body =
      UploadedAdapter{id, std::move(part.name), {std::move(part.files), *std::move(bytes.value())}};
  inbound.bytes = total;
  return true;
}

// ---- Writing.

void WebSocketSession::write(wire::ServerFrame frame, std::uint64_t charge) {
  if (phase_ == Phase::Finished) return;
  queue_.push_back({std::move(frame), charge});
  charged_bytes_ += charge;
  reply_bytes_ += queue_.back().reply_bytes();
  write_next();
}

void WebSocketSession::write_next() {
  if (is_writing_ || (phase_ != Phase::Open && phase_ != Phase::Closing)) return;
  if (queue_.empty()) {
    if (phase_ == Phase::Closing) close();
    return;
  }
  is_writing_ = true;
  if (queue_.size() > 1) hold_back(true);
  current_ = wire::encode(queue_.front().frame);
  stream_.binary(current_.is_binary);
  stream_.async_write(asio::buffer(current_.bytes),
                      [self = me()](ErrorCodeOf error, std::size_t) { self->written(error); });
}

// Frames that wait for one another leave in one packet, so the peer wakes up once. The kernel keeps
// what is written until the last frame is.
void WebSocketSession::hold_back(bool is_held) {
  if (std::exchange(is_held_back_, is_held) == is_held) return;
  held_back_count_ = 0;
  const int value = is_held ? 1 : 0;
  // If it fails, each frame leaves in a packet of its own.
  (void)setsockopt(beast::get_lowest_layer(stream_).socket().native_handle(), IPPROTO_TCP, TCP_CORK,
                   &value, sizeof value);
}

void WebSocketSession::written(ErrorCodeOf error) {
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
  if (current_.bytes.capacity() > kFrameReadBytes) current_ = {};
  write_next();
  if (!must_pause()) read_again();
}

// ---- Closing.

void WebSocketSession::close_after_writes(websocket::close_code code, const std::string& reason) {
  if (phase_ != Phase::Open) return;
  phase_ = Phase::Closing;
  close_reason_ = websocket::close_reason(code, reason);
  write_next();
}

void WebSocketSession::revoke(KeyGone how) {
  if (phase_ != Phase::Opening && phase_ != Phase::Open) return;  // It closes already.
  const bool has_expired = how == KeyGone::Expired;
  if (has_expired) {
    host_.key_refused({KeyRefusal::Expired, connection_->caller->key_name},
                      beast::get_lowest_layer(stream_).socket());
  }
  if (phase_ == Phase::Opening) return finish();
  close_after_writes(websocket::close_code::policy_error,
                     has_expired ? "the key of this connection has expired"
                                 : "the key of this connection was revoked");
}

void WebSocketSession::close() {
  phase_ = Phase::CloseSent;
  stream_.async_close(close_reason_, [self = me()](ErrorCodeOf) { self->finish(); });
}

void WebSocketSession::finish() {
  if (phase_ == Phase::Finished) return;
  phase_ = Phase::Finished;
  partial_frame_.end();
  if (!is_writing_) queue_.clear();
  beast::get_lowest_layer(stream_).close();
  host_.closed(*this);
}

}  // namespace

SessionHandle make_websocket_session(SessionHost& host, ConnectionStream stream,
                                     ConnectionHandle connection, UpgradeRequest request) {
  return std::make_shared<WebSocketSession>(host, std::move(stream), std::move(connection),
                                            std::move(request));
}

}  // namespace quire::server
