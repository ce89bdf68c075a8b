#include "application/access/rate.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace quire::access {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr TenantId kTenant{3};

TEST(LeakyBucket, AMinutesWorthFitsAtOnceAndThenWhatFlowsBack) {
  LeakyBucket bucket(60);
  const std::uint64_t now = 100 * kSecond;
  for (int i = 0; i < 60; ++i) {
    EXPECT_EQ(bucket.wait_ns(now, 1), 0u);
    bucket.add(now, 1);
  }
  EXPECT_EQ(bucket.wait_ns(now, 1), kSecond);
  EXPECT_EQ(bucket.wait_ns(now + kSecond - 1, 1), 1u);
  EXPECT_EQ(bucket.wait_ns(now + kSecond, 1), 0u);
  EXPECT_EQ(bucket.wait_ns(now + kSecond, 2), kSecond);
  EXPECT_EQ(bucket.wait_ns(now + 60 * kSecond, 60), 0u);
}

// A client that asks all the time gets the rate and the minute that was saved, and no more.
TEST(LeakyBucket, ASteadyFloodGetsTheRate) {
  for (const std::uint64_t per_minute : {1u, 7u, 1000u, 100'000u}) {
    LeakyBucket bucket(per_minute);
    SeededRandom random(per_minute);
    std::uint64_t now = 0;
    std::uint64_t taken = 0;
    constexpr std::uint64_t kMinutes = 10;
    while (now < kMinutes * 60 * kSecond) {
      if (bucket.wait_ns(now, 1) == 0) {
        bucket.add(now, 1);
        ++taken;
      } else {
        now += 1 + random.next() % (kSecond / 1000);
      }
    }
    const std::uint64_t most = per_minute * (kMinutes + 1);
    EXPECT_LE(taken, most + 1) << per_minute;
    EXPECT_GE(taken, most - most / 50 - 1) << per_minute;
  }
}

TEST(LeakyBucket, HugeCountsDoNotWrapAround) {
  LeakyBucket bucket(1);
  bucket.add(0, UINT64_MAX);
  EXPECT_GT(bucket.wait_ns(kSecond, 1), 1'000'000 * kSecond);
  bucket.add(kSecond, UINT64_MAX);
  EXPECT_GT(bucket.wait_ns(kSecond, UINT64_MAX), 0u);
}

TEST(TenantRates, EachUseHasItsOwnRateAndATenantWithoutOneIsNotHeldBack) {
  TenantRates rates({{kTenant, {.requests_per_minute = 2, .launches_per_minute = 1}}},
                    [](TenantId) -> std::uint64_t {
                      ADD_FAILURE() << "tokens have no limit";
                      return 0;
                    });
  EXPECT_FALSE(rates.take(kTenant, TenantRates::Use::Request, 0));
  EXPECT_FALSE(rates.take(kTenant, TenantRates::Use::Request, 0));
  const auto refused = rates.take(kTenant, TenantRates::Use::Request, 0);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->retry_after_ms, 30'000u);
  EXPECT_EQ(refused->error.code(), ErrorCode::QuotaExceeded);
  EXPECT_EQ(refused->error.message(),
            "tenant 3: requests_per_minute: the tenant used its 2 requests; try again in 30000 ms");
  EXPECT_FALSE(rates.take(kTenant, TenantRates::Use::Launch, 0));
  EXPECT_TRUE(rates.take(kTenant, TenantRates::Use::Launch, 0));
  // A refusal is not counted.
  EXPECT_FALSE(rates.take(kTenant, TenantRates::Use::Request, 30 * kSecond));
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(rates.take(TenantId{4}, TenantRates::Use::Request, 0));
  }
}

TEST(TenantRates, TokensThatWereUsedHoldBackTheNextRequest) {
  std::uint64_t tokens = 0;
  TenantRates rates({{kTenant, {.tokens_per_minute = 60}}}, [&](TenantId) { return tokens; });
  EXPECT_FALSE(rates.take(kTenant, TenantRates::Use::Request, 0));
  tokens = 59;
  EXPECT_FALSE(rates.take(kTenant, TenantRates::Use::Launch, 0));
  tokens = 90;  // What runs may take more than there is.
  const auto refused = rates.take(kTenant, TenantRates::Use::Request, 0);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->retry_after_ms, 31'000u);
  EXPECT_TRUE(rates.take(kTenant, TenantRates::Use::Launch, 30 * kSecond));
  EXPECT_FALSE(rates.take(kTenant, TenantRates::Use::Launch, 31 * kSecond));
}

}  // namespace
}  // namespace quire::access
