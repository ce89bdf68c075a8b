#include "application/lifecycle/output_shares.h"

#include <gtest/gtest.h>

namespace quire::lifecycle {
namespace {

using control::TenantId;

constexpr std::uint64_t kMessageBytes = (64u << 10) - OutputShares::kEachBytes;
constexpr std::uint64_t kTurnNs = 100'000;

// The output until `now_ns` of a tenant that always has more.
std::uint64_t flood(OutputShares& shares, TenantId tenant, std::uint64_t now_ns) {
  std::uint64_t bytes = 0;
  while (shares.may_put_out(tenant, now_ns)) {
    shares.charge(tenant, kMessageBytes);
    shares.verify();
    bytes += kMessageBytes + OutputShares::kEachBytes;
  }
  return bytes;
}

TEST(OutputShares, AFloodGetsItsRateAndWhoSaysLittleNeverWaits) {
  OutputShares shares;
  std::uint64_t bytes = 0;
  for (std::uint64_t now_ns = 0; now_ns < 1'000'000'000; now_ns += kTurnNs) {
    bytes += flood(shares, TenantId{1}, now_ns);
    ASSERT_TRUE(shares.may_put_out(TenantId{2}, now_ns));
    if (now_ns % 5'000'000 == 0) shares.charge(TenantId{2}, 200);
  }
  EXPECT_LE(bytes, OutputShares::kBytesPerSecond + 2 * OutputShares::kOwedBytesMax);
  EXPECT_GE(bytes, OutputShares::kBytesPerSecond * 9 / 10);
}

TEST(OutputShares, FloodsOfSeveralTenantsGetEqualParts) {
  OutputShares shares;
  std::uint64_t bytes[4] = {};
  for (std::uint64_t now_ns = 0; now_ns < 1'000'000'000; now_ns += kTurnNs) {
    for (std::uint32_t tenant = 0; tenant < 4; ++tenant) {
      bytes[tenant] += flood(shares, TenantId{tenant}, now_ns);
    }
  }
  for (const std::uint64_t each : bytes) {
    EXPECT_NEAR(static_cast<double>(each), OutputShares::kBytesPerSecond / 4.0,
                2.0 * OutputShares::kOwedBytesMax);
  }
}

TEST(OutputShares, WhoWaitsMayAtTheTimeThatIsSaidAndNotBefore) {
  OutputShares shares;
  flood(shares, TenantId{1}, 5);
  const std::uint64_t at_ns = shares.may_at_ns(TenantId{1});
  EXPECT_GT(at_ns, 5u);
  EXPECT_FALSE(OutputShares(shares).may_put_out(TenantId{1}, at_ns - 1'000));
  EXPECT_TRUE(shares.may_put_out(TenantId{1}, at_ns));
  EXPECT_GE(flood(shares, TenantId{1}, at_ns), OutputShares::kPaidBytes)
      << "it is not woken for a few bytes";
}

TEST(OutputShares, WhoHasPaidOwesNothing) {
  OutputShares shares;
  flood(shares, TenantId{1}, 0);
  EXPECT_TRUE(shares.may_put_out(TenantId{1}, 60'000'000'000));
  EXPECT_GE(flood(shares, TenantId{1}, 60'000'000'000), OutputShares::kOwedBytesMax);
  EXPECT_LE(flood(shares, TenantId{2}, 60'000'000'000),
            OutputShares::kOwedBytesMax + 2 * (64u << 10));
}

}  // namespace
}  // namespace quire::lifecycle
