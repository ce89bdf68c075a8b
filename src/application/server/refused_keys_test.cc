#include "application/server/refused_keys.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace quire::server {
namespace {

ClientAddress address_of(std::uint64_t number) {
  ClientAddress address{};
  for (std::size_t i = 0; i < 8; ++i) address[i] = static_cast<std::uint8_t>(number >> (8 * i));
  return address;
}

TEST(RefusedKeys, AnAddressHasALineInTenSecondsAndTheNextOneHasTheCount) {
  RefusedKeys refused;
  EXPECT_EQ(refused.take(address_of(1), 0), 0u);
  for (int i = 0; i < 99; ++i) EXPECT_FALSE(refused.take(address_of(1), kSecond));
  EXPECT_EQ(refused.take(address_of(2), 2 * kSecond), 99u) << "another address has its own";
  EXPECT_FALSE(refused.take(address_of(1), kRefusalPeriodNs - 1));
  EXPECT_EQ(refused.take(address_of(1), kRefusalPeriodNs), 1u);
}

TEST(RefusedKeys, ManyAddressesHaveTheLinesOfAMinuteAndEveryRefusalIsCounted) {
  RefusedKeys refused;
  SeededRandom random(1);
  constexpr std::uint64_t kMinutes = 10;
  std::uint64_t asked = 0;
  std::uint64_t lines = 0;
  std::uint64_t counted = 0;
  for (std::uint64_t now = 0; now < kMinutes * 60 * kSecond; now += kSecond / 50) {
    ++asked;
    if (const auto held_back = refused.take(address_of(random.next()), now)) {
      ++lines;
      counted += *held_back;
    }
  }
  EXPECT_LE(lines, (kMinutes + 1) * kRefusalLinesPerMinute + 1);
  EXPECT_GE(lines, kMinutes * kRefusalLinesPerMinute);
  EXPECT_LE(asked - lines - counted, 4 * 50u) << "what came since the last line";
}

}  // namespace
}  // namespace quire::server
