// serve: the HTTP request that launched an instance, and its response.
#include <utility>

#include "application/hostcalls/calls.h"

namespace quire::hostcalls {
namespace {

constexpr std::uint32_t kGoOn = 1;  // Of the flags of respond.

}  // namespace

Result<std::int32_t> serve_request_head(HostCall& call, GuestAddress buffer,
                                        std::uint32_t capacity) {
  TRY(call.guest.served.check_served());
  const std::string head = call.guest.served.encoded_head();
  if (head.size() > capacity) {
    TRY(call.memory.range<std::uint8_t>(buffer, capacity, "buffer"));
    return count_result(head.size());
  }
  return give_bytes(call, head, buffer, capacity);
}

Result<std::int32_t> serve_read_request(HostCall& call) {
  TRY(call.guest.check_future_room());
  return static_cast<std::int32_t>(TRY(call.guest.served.read()));
}

Result<std::int32_t> serve_respond(HostCall& call, std::uint32_t status,
                                   GuestList<std::uint8_t> headers, std::uint32_t flags) {
  TRY(call.guest.served.check_served());
  if (headers.count > kResponseHeaderBytesMax) {
    return Error(ErrorCode::TooLarge, "headers of " + std::to_string(headers.count) +
                                          " bytes; a response has at most " +
                                          std::to_string(kResponseHeaderBytesMax));
  }
  if ((flags & ~kGoOn) != 0) {
    return Error(ErrorCode::InvalidArgument,
                 "flags " + std::to_string(flags) + ": 0 and 1 (go on without the client) exist");
  }
  const std::string lines = TRY(call.memory.read_bytes(headers, "headers"));
  TRY(call.guest.served.respond(status, lines, (flags & kGoOn) != 0));
  return 0;
}

Result<std::int32_t> serve_write_response(HostCall& call, GuestList<std::uint8_t> bytes) {
  TRY(call.guest.served.check_served());
  TRY(check_text_bytes(call, bytes.count, "part"));
  TRY(call.guest.check_future_room());
  std::string part = TRY(call.memory.read_bytes(bytes, "bytes"));
  return static_cast<std::int32_t>(TRY(call.guest.served.write(std::move(part))));
}

Result<std::int32_t> serve_finish_response(HostCall& call) {
  TRY(call.guest.served.finish());
  return 0;
}

}  // namespace quire::hostcalls
