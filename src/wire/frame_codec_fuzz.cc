// Arbitrary bytes where a frame is expected: an error, or a frame that is written back and read
// again with the same values.
#include <cstdint>
#include <cstdlib>

#include "wire/frame_codec.h"

namespace {

using namespace quire::wire;

void fuzz_request(bool is_binary, std::string_view bytes) {
  const DecodedRequest decoded = decode_request(is_binary, bytes);
  if (!decoded.request.ok()) return;
  const Message message = encode(decoded.request.value());
  const DecodedRequest again = decode_request(message.is_binary, message.bytes);
  if (message.is_binary != is_binary || again.id != decoded.id || !again.request.ok() ||
      again.request.value() != decoded.request.value()) {
    std::abort();
  }
}

void fuzz_server_frame(bool is_binary, std::string_view bytes) {
  const quire::Result<ServerFrame> decoded = decode_server_frame(is_binary, bytes);
  if (!decoded.ok()) return;
  const Message message = encode(decoded.value());
  const quire::Result<ServerFrame> again = decode_server_frame(message.is_binary, message.bytes);
  if (message.is_binary != is_binary || !again.ok() || again.value() != decoded.value()) {
    std::abort();
  }
}

}  // namespace

// The first byte chooses the side and the kind of message.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  if (bytes == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, bytes - 1);
  const bool is_binary = (data[0] & 1) != 0;
  if ((data[0] & 2) == 0) {
    fuzz_request(is_binary, rest);
  } else {
    fuzz_server_frame(is_binary, rest);
  }
  return 0;
}
