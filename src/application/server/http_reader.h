#pragma once
// HttpReader turns the bytes of a connection into requests: the head of one, the parts of its body,
// the head of the next. It reads no sockets, so tests and a fuzzer drive it with bytes.
//
// Owns     the bytes that were received and not taken. Once a head was read, that HttpHead alone
//          has the key of the request.
// Thread   of its session.
// Errors   HttpProblem, after which nothing more is taken: what follows could be read as a request
//          that another client wrote (request smuggling). So a body whose length is in doubt is one.
// Bound    has_room() says when no more is to be added: HttpReaderLimits::header_bytes_max, and
//          kBufferBytesMax.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "application/server/http_router.h"
#include "application/server/websocket_session.h"

namespace quire::server {

struct HttpReaderLimits {
  std::uint32_t header_bytes_max = 8192;
  std::uint64_t body_bytes_max = 0;
};

// The answer to a mistake of the client. The connection ends after it.
struct HttpProblem {
  std::uint32_t status = 400;
  ErrorCode code = ErrorCode::InvalidArgument;
  std::string message;
};

struct MoreNeeded {};

struct BodyPart {
  std::string bytes;  // May be empty if it is the last.
  bool is_last = false;
};

class HttpReader {
 public:
  static constexpr std::size_t kBufferBytesMax = 64u << 10;
  static constexpr std::size_t kPartBytesMax = 32u << 10;

  explicit HttpReader(const HttpReaderLimits& limits);
  ~HttpReader();

  void add(std::string_view received);
  bool has_room() const;
  bool has_bytes() const;  // Received, and not taken.

  // The head of the next request; the one before was taken whole, with its body.
  std::variant<MoreNeeded, HttpHead, HttpProblem> read_head();
  // The next part of the body that the head announced, and which is not whole yet.
  std::variant<MoreNeeded, BodyPart, HttpProblem> read_part();
  bool is_body_whole() const;

  // The head that was read last, for a WebSocket.
  UpgradeRequest take_upgrade();

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace quire::server
