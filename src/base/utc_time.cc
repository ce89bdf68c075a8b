#include "base/utc_time.h"

#include <charconv>
#include <ctime>

#include "base/check.h"

namespace quire {

std::string utc_text(std::uint64_t unix_s) {
  QUIRE_CHECK(unix_s <= kUtcSecondsMax, "the text of a time has four digits for its year");
  const auto seconds = static_cast<std::time_t>(unix_s);
  std::tm time{};
  gmtime_r(&seconds, &time);
  char text[32];
  return std::string(text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &time));
}

std::optional<std::uint64_t> parse_utc(std::string_view text) {
  constexpr std::string_view kForm = "0000-00-00T00:00:00Z";
  if (text.size() != kForm.size()) return std::nullopt;
  const auto number = [text](std::size_t at, std::size_t digits) {
    int value = 0;
    (void)std::from_chars(text.data() + at, text.data() + at + digits, value);
    return value;
  };
  std::tm time{};
  time.tm_year = number(0, 4) - 1900;
  time.tm_mon = number(5, 2) - 1;
  time.tm_mday = number(8, 2);
  time.tm_hour = number(11, 2);
  time.tm_min = number(14, 2);
  time.tm_sec = number(17, 2);
  const std::time_t seconds = timegm(&time);
  if (seconds < 0) return std::nullopt;
  // The 31st of June, a letter between the digits and a year before 1970 all have another text.
  const auto unix_s = static_cast<std::uint64_t>(seconds);
  if (unix_s > kUtcSecondsMax || utc_text(unix_s) != text) return std::nullopt;
  return unix_s;
}

}  // namespace quire
