#include "application/access/key_end.h"

#include <gtest/gtest.h>

#include "base/utc_time.h"

namespace quire::access {
namespace {

const std::uint64_t kNow = parse_utc("2026-11-29T17:00:00Z").value();

TEST(KeyEnd, IsADurationFromNowADayOrATime) {
  const std::pair<const char*, const char*> ends[] = {
      {"90d", "2027-02-27T17:00:00Z"},        {"12h", "2026-11-30T05:00:00Z"},
      {"30min", "2026-11-29T17:30:00Z"},      {"1s", "2026-11-29T17:00:01Z"},
      {"2026-12-31", "2026-12-31T00:00:00Z"}, {"2026-12-31T12:00:00Z", "2026-12-31T12:00:00Z"}};
  for (const auto& [text, end] : ends) {
    const Result<std::uint64_t> parsed = parse_key_end(text, kNow);
    ASSERT_TRUE(parsed.ok()) << text;
    EXPECT_EQ(utc_text(parsed.value()), end) << text;
  }
}

TEST(KeyEnd, AnyOtherTextIsRefusedWithTheFormsThereAre) {
  for (const char* text : {"", "d", "90", "90 d", "-1d", "1.5h", "1y", "tomorrow", "2026-02-30",
                           "99999999999999999999d", "9999999999d", "2026-12-31T12:00:00+01:00"}) {
    const Result<std::uint64_t> parsed = parse_key_end(text, kNow);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_NE(parsed.error().message().find("as 90d or 12h"), std::string_view::npos) << text;
  }
  for (const char* past : {"0s", "2026-11-29", "2026-11-29T17:00:00Z"}) {
    const Result<std::uint64_t> parsed = parse_key_end(past, kNow);
    ASSERT_FALSE(parsed.ok()) << past;
    EXPECT_NE(parsed.error().message().find("must end in the future"), std::string_view::npos);
  }
}

}  // namespace
}  // namespace quire::access
