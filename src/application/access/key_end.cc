#include "application/access/key_end.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

#include "base/utc_time.h"
#include "base/utf8.h"

namespace quire::access {
namespace {

// The seconds of "90d".
std::optional<std::uint64_t> parse_duration(std::string_view text) {
  struct Unit {
    std::string_view name;
    std::uint64_t seconds;
  };
  constexpr Unit kUnits[] = {{"s", 1}, {"min", 60}, {"h", 3600}, {"d", 86400}};
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  std::uint64_t count = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + digits, count);
  if (parsed.ec != std::errc() || count > kUtcSecondsMax) return std::nullopt;
  for (const Unit& unit : kUnits) {
    if (text.substr(digits) == unit.name) return count * unit.seconds;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> parse_end(std::string_view text, std::uint64_t now_unix_s) {
  if (const auto duration = parse_duration(text)) return now_unix_s + *duration;
  if (const auto time = parse_utc(text)) return time;
  return parse_utc(std::string(text) + "T00:00:00Z");
}

}  // namespace

Result<std::uint64_t> parse_key_end(std::string_view text, std::uint64_t now_unix_s) {
  const std::optional<std::uint64_t> end = parse_end(text, now_unix_s);
  if (!end || *end > kUtcSecondsMax) {
    return Error(ErrorCode::InvalidArgument,
                 in_quotes(text) +
                     " is neither a duration, as 90d or 12h (s, min, h, d), nor a time in UTC, as "
                     "2026-12-31 or 2026-12-31T12:00:00Z");
  }
  if (*end > now_unix_s) return *end;
  return Error(ErrorCode::InvalidArgument, "a key must end in the future, and " + utc_text(*end) +
                                               " is not after " + utc_text(now_unix_s));
}

}  // namespace quire::access
