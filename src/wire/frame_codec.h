#pragma once
// The codec between frames and the bytes of one WebSocket message. It is strict: an Error names a
// member that is missing, unknown, of the wrong type, too long, nested or repeated. A frame that
// was read is written back with the same values.
//
// Thread   any; no state.
// Errors   InvalidArgument for all that a peer wrote wrong; TooLarge beyond the limits of frames.h.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "wire/frames.h"

namespace quire::wire {

struct Message {
  bool is_binary = false;
  std::string bytes;
};

Message encode(const Request& request);
Message encode(const ServerFrame& frame);

// If the id could be read and the rest could not, the id is there with the error. So the client
// learns which of its requests was wrong.
struct DecodedRequest {
  std::uint64_t id = 0;  // 0: none.
  Result<Request> request;
};
DecodedRequest decode_request(bool is_binary, std::string_view bytes);

// A server of this version; members that a later one adds are passed over.
Result<ServerFrame> decode_server_frame(bool is_binary, std::string_view bytes);

// "sha256:..." or a name. InvalidArgument says what is wrong with it.
Result<ProgramName> parse_program(std::string_view text);
// 64 hex digits in lower case.
Result<Digest> parse_digest(std::string_view hex);

}  // namespace quire::wire
