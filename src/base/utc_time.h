#pragma once
// Times of day in UTC as text: "2026-11-25T19:10:00Z" (RFC 3339).
//
// Thread   any.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace quire {

// 9999-12-31T23:59:59Z: all times up to it have texts of one length.
inline constexpr std::uint64_t kUtcSecondsMax = 253'402'300'799;

// Requires: at most kUtcSecondsMax seconds since 1970.
std::string utc_text(std::uint64_t unix_s);
// The seconds since 1970 of a text of exactly that form, which names a time that there is.
std::optional<std::uint64_t> parse_utc(std::string_view text);

}  // namespace quire
