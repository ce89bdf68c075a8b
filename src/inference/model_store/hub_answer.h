#pragma once
// Answers of a hub: what it refuses, and what it says of a file before the file's bytes.
//
// Thread   any; no state.
// Errors   see refusal_of().
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "inference/model_store/http_exchange.h"

namespace quire::inference {

// The error for an answer that is not a success: the cause, and the next step. `what` is the
// repository or file; `has_token` whether HF_TOKEN went along. PermissionDenied for 401 and 403;
// NotFound for 404; QuotaExceeded for 429; Unavailable for 5xx, after which another attempt makes
// sense; Io for any other.
Error refusal_of(const HttpHead& head, const std::string& what, bool has_token);

// A `Content-Range` field as in "bytes 5-99/100".
struct ContentRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::uint64_t bytes = 0;  // Of the whole file.
};
std::optional<ContentRange> parse_content_range(std::string_view field);

// Decimal digits alone.
std::optional<std::uint64_t> parse_byte_count(std::string_view field);

}  // namespace quire::inference
