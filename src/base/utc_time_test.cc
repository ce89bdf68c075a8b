#include "base/utc_time.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace quire {
namespace {

TEST(UtcTime, EachTimeHasATextThatGivesItBack) {
  EXPECT_EQ(utc_text(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(utc_text(1'764'098'000), "2025-11-25T19:13:20Z");
  EXPECT_EQ(utc_text(kUtcSecondsMax), "9999-12-31T23:59:59Z");
  SeededRandom random(1);
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t time = random.next() % (kUtcSecondsMax + 1);
    ASSERT_EQ(parse_utc(utc_text(time)), time) << time;
  }
}

TEST(UtcTime, ATextThatIsNotATimeGivesNone) {
  for (const char* text :
       {"", "2026-11-25", "2026-11-25T19:10:00", "2026-11-25T19:10:00z", "2026-11-25 19:10:00Z",
        "2026-02-30T00:00:00Z", "2026-13-01T00:00:00Z", "2026-11-25T24:00:00Z",
        "2026-11-25T19:60:00Z", "2026-11-25T19:10:60Z", "1969-12-31T23:59:59Z",
        "-026-11-25T19:10:00Z", "2026-1a-25T19:10:00Z", "2026-11-25T19:10:00Z "}) {
    EXPECT_EQ(parse_utc(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace quire
