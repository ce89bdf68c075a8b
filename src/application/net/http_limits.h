#pragma once
// HttpLimits are the limits of one program's HTTP. The error of a call that would exceed a limit
// names it, as http.call_count_max.
#include <cstdint>

namespace quire::net {

struct HttpLimits {
  std::uint32_t exchange_count_max = 8;   // At once: calls under way, and handles of exchanges.
  std::uint32_t call_count_max = 10'000;  // Ever.
  std::uint32_t url_bytes_max = 8192;
  std::uint32_t request_header_bytes_max = 64u << 10;
  std::uint64_t request_body_bytes_max = 64u << 20;     // Of one exchange.
  std::uint32_t response_header_bytes_max = 64u << 10;  // Of one response, interim ones included.
  std::uint64_t response_body_bytes_max = 1u << 30;     // As they come, compressed or not.
  std::uint64_t decompressed_bytes_max = 1u << 30;
  std::uint32_t decompression_ratio_max = 100;    // Counts beyond kDecompressionFreeBytes.
  std::uint32_t whole_body_bytes_max = 1u << 20;  // Of a body that comes in one piece.
  std::uint32_t redirect_count_max = 5;
  std::uint64_t connect_ns_max = 10'000'000'000;     // Name, connection and TLS, for each redirect.
  std::uint64_t first_byte_ns_max = 60'000'000'000;  // From the last byte sent to the first back.
  std::uint64_t idle_ns_max = 30'000'000'000;        // Between bytes, where the program wants them.
  std::uint64_t total_ns_max = 600'000'000'000;      // Of an exchange, redirects included.
};

// A small body may be decompressed at any ratio.
inline constexpr std::uint64_t kDecompressionFreeBytes = 1u << 20;
// The most that a program gets of a streamed body at once, and that is kept until it asks.
inline constexpr std::uint32_t kBodyChunkBytesMax = 64u << 10;

}  // namespace quire::net
