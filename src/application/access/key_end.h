#pragma once
// From when on a key is refused, as `quire keys add --expires` takes it.
//
// Thread   any.
// Errors   InvalidArgument, with the forms that there are.
#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace quire::access {

// In seconds since 1970: "90d" (s, min, h, d) counts from now on, "2026-12-31" is the beginning of
// that day in UTC, and "2026-12-31T12:00:00Z" is a time. It is after now.
Result<std::uint64_t> parse_key_end(std::string_view text, std::uint64_t now_unix_s);

}  // namespace quire::access
