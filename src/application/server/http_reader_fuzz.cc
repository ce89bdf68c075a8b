// Arbitrary bytes as a connection brings them: the same requests in whatever pieces they come, no body
// beyond its limit, and no wait for bytes without room for them. What is wrong with a line that has not
// ended may be noticed before its end or there. Each seed is what a client sends;
// http_reader_test.cc says what becomes of those whose names begin with "refused" and "taken".
#include <cstdint>
#include <cstdlib>

#include "application/server/http_reader_test_support.h"

namespace {

using quire::server::ReadRequests;

bool agree(const ReadRequests& one, const ReadRequests& other) {
  if (one.requests != other.requests) return false;
  const auto waits_while = [](const ReadRequests& waits, const ReadRequests& knows) {
    return waits.end == "more" && knows.end.starts_with("problem");
  };
  return one.end == other.end || waits_while(one, other) || waits_while(other, one);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t count) {
  using namespace quire::server;
  constexpr HttpReaderLimits kLimits = {.header_bytes_max = 1024, .body_bytes_max = 512};
  const std::string_view bytes(reinterpret_cast<const char*>(data), count);
  if (count >= HttpReader::kBufferBytesMax) return 0;  // One piece of it could be too large to add.
  const ReadRequests whole = read_requests(bytes, count, kLimits);
  for (const std::size_t piece_bytes : {std::size_t{1}, 2 + count % 11}) {
    if (!agree(read_requests(bytes, piece_bytes, kLimits), whole)) std::abort();
  }
  return 0;
}
