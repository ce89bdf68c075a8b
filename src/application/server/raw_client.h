#pragma once
// For tests: a WebSocket client of plain sockets, which can also say what a good one would not.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "wire/frame_codec.h"

namespace quire::server {

inline constexpr int kPatienceMs = 20'000;

class RawClient {
 public:
  RawClient() = default;
  explicit RawClient(std::uint16_t port, int receive_buffer_bytes = 0) {
    descriptor_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (receive_buffer_bytes > 0) {
      setsockopt(descriptor_, SOL_SOCKET, SO_RCVBUF, &receive_buffer_bytes,
                 sizeof receive_buffer_bytes);
    }
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(descriptor_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
      ::close(std::exchange(descriptor_, -1));
    }
  }
  RawClient(RawClient&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)), input_(std::move(other.input_)) {}
  RawClient& operator=(RawClient&& other) noexcept {
    close();
    descriptor_ = std::exchange(other.descriptor_, -1);
    input_ = std::move(other.input_);
    return *this;
  }
  ~RawClient() { close(); }

  bool connected() const { return descriptor_ >= 0; }
  void close() {
    if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
  }
  // Without a farewell: the peer gets RST.
  void reset() {
    const linger now{1, 0};
    setsockopt(descriptor_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    close();
  }

  void set_write_patience(timeval time) {
    setsockopt(descriptor_, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time);
  }
  bool write(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t count = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (count <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
  }

  // Whether bytes, or the end, wait to be read.
  bool has_input() const {
    pollfd polled{descriptor_, POLLIN, 0};
    return descriptor_ < 0 || poll(&polled, 1, 0) > 0;
  }
  // Reads the bytes that have come, once there are any. False once the server has closed.
  bool read_more() {
    pollfd polled{descriptor_, POLLIN, 0};
    if (descriptor_ < 0 || poll(&polled, 1, kPatienceMs) <= 0) return false;
    char part[65536];
    const ssize_t count = recv(descriptor_, part, sizeof part, 0);
    if (count <= 0) return false;
    input_.append(part, static_cast<std::size_t>(count));
    return true;
  }

  // The answer to an HTTP request: all until the server closes.
  std::string http(std::string_view request) {
    write(request);
    while (read_more()) {
    }
    return std::exchange(input_, {});
  }

  // Reads up to the end of that text, and drops it. False if the server closes before.
  bool read_until(std::string_view text) {
    std::size_t at;
    while ((at = input_.find(text)) == std::string::npos) {
      if (!read_more()) return false;
    }
    input_.erase(0, at + text.size());
    return true;
  }

  // The next bytes, or fewer if the server closes before.
  std::string take(std::size_t count) {
    while (input_.size() < count && read_more()) {
    }
    const std::string taken = input_.substr(0, count);
    input_.erase(0, count);
    return taken;
  }

  static std::string handshake(std::string_view extra = "", std::string_view host = "localhost",
                               std::string_view protocol = "quire.1") {
    return "GET / HTTP/1.1\r\nHost: " + std::string(host) +
           "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
           "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
           "Sec-WebSocket-Protocol: " +
           std::string(protocol) + "\r\n" + std::string(extra) + "\r\n";
  }
  // Whether the WebSocket is open.
  bool open(std::string_view request = handshake()) {
    write(request);
    std::size_t end;
    while ((end = input_.find("\r\n\r\n")) == std::string::npos) {
      if (!read_more()) return false;
    }
    const bool is_open = input_.starts_with("HTTP/1.1 101 ");
    if (is_open) input_.erase(0, end + 4);
    return is_open;
  }

  enum Opcode : unsigned char {
    kContinue = 0,
    kText = 1,
    kBinary = 2,
    kClose = 8,
    kPing = 9,
    kPong = 10
  };
  static std::string frame(Opcode opcode, std::string_view payload, bool is_final = true,
                           bool is_masked = true) {
    std::string out;
    out += static_cast<char>((is_final ? 0x80 : 0) | opcode);
    const int mask_bit = is_masked ? 0x80 : 0;
    if (payload.size() < 126) {
      out += static_cast<char>(mask_bit | static_cast<int>(payload.size()));
    } else if (payload.size() < 65536) {
      out += static_cast<char>(mask_bit | 126);
      for (int shift = 8; shift >= 0; shift -= 8) out += static_cast<char>(payload.size() >> shift);
    } else {
      out += static_cast<char>(mask_bit | 127);
      for (int shift = 56; shift >= 0; shift -= 8) {
        out += static_cast<char>(payload.size() >> shift);
      }
    }
    if (!is_masked) return out + std::string(payload);
    constexpr char kMask[] = {1, 2, 3, 4};
    out.append(kMask, 4);
    for (std::size_t i = 0; i < payload.size(); ++i) {
      out += static_cast<char>(payload[i] ^ kMask[i % 4]);
    }
    return out;
  }
  bool send(const wire::Request& request) {
    const wire::Message message = wire::encode(request);
    return write(frame(message.is_binary ? kBinary : kText, message.bytes));
  }
  bool send_text(std::string_view text) { return write(frame(kText, text)); }

  struct Received {
    Opcode opcode = kClose;
    std::string payload;
  };
  // The next frame; none once the connection is closed.
  std::optional<Received> receive() {
    while (true) {
      if (std::optional<Received> frame = take_frame()) return frame;
      if (!read_more()) return std::nullopt;
    }
  }
  // The next frame of the protocol; pings and pongs are passed over.
  std::optional<wire::ServerFrame> next() {
    while (std::optional<Received> frame = receive()) {
      if (frame->opcode == kPing || frame->opcode == kPong) continue;
      if (frame->opcode == kClose) {
        close_code_ = frame->payload.size() < 2
                          ? 1005
                          : (static_cast<unsigned char>(frame->payload[0]) << 8) |
                                static_cast<unsigned char>(frame->payload[1]);
        write(RawClient::frame(kClose, frame->payload.substr(0, 2)));
        return std::nullopt;
      }
      Result<wire::ServerFrame> decoded =
          wire::decode_server_frame(frame->opcode == kBinary, frame->payload);
      EXPECT_TRUE(decoded.ok()) << frame->payload;
      if (!decoded.ok()) return std::nullopt;
      return std::move(decoded).take();
    }
    return std::nullopt;
  }
  // The code of the close frame that next() met; 0: none.
  int close_code() const { return close_code_; }

  // The reply to a request that this sends; events before it are kept in `events`.
  std::optional<wire::ReplyBody> ask(wire::RequestBody body) {
    const std::uint64_t id = ++last_id_;
    if (!send({id, std::move(body)})) return std::nullopt;
    return reply_to(id);
  }
  std::optional<wire::ReplyBody> reply_to(std::uint64_t id) {
    while (std::optional<wire::ServerFrame> frame = next()) {
      auto* reply = std::get_if<wire::Reply>(&*frame);
      if (reply != nullptr && reply->id == id) return std::move(reply->body);
      events.push_back(*std::move(frame));
    }
    return std::nullopt;
  }
  template <typename Event>
  std::optional<Event> event() {
    for (auto at = events.begin(); at != events.end(); ++at) {
      if (auto* found = std::get_if<Event>(&*at)) {
        Event event = std::move(*found);
        events.erase(at);
        return event;
      }
    }
    while (std::optional<wire::ServerFrame> frame = next()) {
      if (auto* found = std::get_if<Event>(&*frame)) return std::move(*found);
      events.push_back(*std::move(frame));
    }
    return std::nullopt;
  }
  std::deque<wire::ServerFrame> events;

 private:
  std::optional<Received> take_frame() {
    const auto byte = [&](std::size_t at) {
      return static_cast<std::uint64_t>(static_cast<unsigned char>(input_[at]));
    };
    if (input_.size() < 2) return std::nullopt;
    std::uint64_t bytes = byte(1) & 0x7f;
    const std::size_t length_bytes = bytes == 126 ? 2 : bytes == 127 ? 8 : 0;
    if (input_.size() < 2 + length_bytes) return std::nullopt;
    if (length_bytes > 0) {
      bytes = 0;
      for (std::size_t i = 0; i < length_bytes; ++i) bytes = bytes << 8 | byte(2 + i);
    }
    const std::size_t head = 2 + length_bytes;
    if (input_.size() < head + bytes) return std::nullopt;
    Received received{static_cast<Opcode>(byte(0) & 0x0f), input_.substr(head, bytes)};
    input_.erase(0, head + bytes);
    return received;
  }

  int descriptor_ = -1;
  std::string input_;
  std::uint64_t last_id_ = 0;
  int close_code_ = 0;
};

}  // namespace quire::server
