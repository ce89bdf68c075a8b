// The decoder gets arbitrary bytes as the body of a request, after a line with its
// Content-Encoding. It does not crash, exceeds no limit and waits for no more than was sent. In
// whatever pieces the body comes, the result is the same body, or a problem.
#include <cstdint>
#include <cstdlib>

#include "application/server/body_decoder_test_support.h"

namespace {

using namespace quire::server;

// A problem may be noticed before or after the bytes in front of it are given; and if wrong bytes follow the byte that
// is one too many, either may be noticed.
bool agree(const DecodedBody& one, const DecodedBody& other) {
  if ((one.end == "whole") != (other.end == "whole")) return false;
  if (one.end == "whole") return one.bytes == other.bytes;
  return one.bytes.starts_with(other.bytes) || other.bytes.starts_with(one.bytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t count) {
  // One is small. With the other a bomb takes little of the fuzzer's time, and the ratio counts.
  constexpr BodyDecoderLimits kLimits[] = {
      {.body_bytes_max = 1000, .ratio_max = 100},
      {.body_bytes_max = (1u << 20) + 100'000, .ratio_max = 100}};
  std::string_view sent(reinterpret_cast<const char*>(data), count);
  const std::string_view line = sent.substr(0, sent.find('\n'));
  sent.remove_prefix(std::min(line.size() + 1, sent.size()));
  const std::optional<ContentCoding> coding = content_coding_of({std::string(line)});
  if (!coding || *coding == ContentCoding::Identity) return 0;
  for (const BodyDecoderLimits& limits : kLimits) {
    const DecodedBody whole = decode_body(*coding, sent, limits);
    for (const std::size_t piece_bytes : {std::size_t{1}, 2 + count % 11}) {
      const auto pieces = [&] { return piece_bytes; };
      if (!agree(decode_body(*coding, sent, pieces, limits), whole)) std::abort();
    }
  }
  return 0;
}
