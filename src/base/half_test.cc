#include "base/half.h"

#include <gtest/gtest.h>

#include <cmath>

namespace quire {
namespace {

TEST(Half, EveryHalfComesBackFromFloat) {
  for (std::uint32_t bits = 0; bits < 0x10000u; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = float_from_f16(half);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(float_from_f16(f16_from_float(value))));
    } else {
      EXPECT_EQ(f16_from_float(value), half) << bits;
    }
  }
}

TEST(Half, RoundsToNearestTiesToEven) {
  EXPECT_EQ(f16_from_float(1.0f + 0x1p-11f), 0x3c00);      // A tie: down to even.
  EXPECT_EQ(f16_from_float(1.0f + 3 * 0x1p-11f), 0x3c02);  // A tie: up to even.
  EXPECT_EQ(f16_from_float(65520.0f), 0x7c00);             // Rounds to infinity.
  EXPECT_EQ(f16_from_float(65519.0f), 0x7bff);
  EXPECT_EQ(f16_from_float(0x1p-25f), 0x0000);  // Half of the smallest: to even.
  EXPECT_EQ(f16_from_float(0x1.8p-25f), 0x0001);
  EXPECT_EQ(bf16_from_float(1.0f + 0x1p-8f), 0x3f80);
  EXPECT_EQ(bf16_from_float(1.0f + 3 * 0x1p-8f), 0x3f82);
}

}  // namespace
}  // namespace quire
