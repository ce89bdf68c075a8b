#include "application/access/rate.h"

#include <algorithm>
#include <string>
#include <utility>

namespace quire::access {
namespace {

constexpr std::uint64_t kMinuteNs = 60'000'000'000;
constexpr std::uint64_t kNsPerMs = 1'000'000;
static_assert(kRateMax <= (UINT64_MAX - kRateMax) / kMinuteNs);
constexpr std::uint64_t kLongest = UINT64_MAX / 4;  // 146 years: sums of two do not wrap around.

std::optional<LeakyBucket> bucket_of(const std::optional<std::uint64_t>& per_minute) {
  return per_minute ? std::optional(LeakyBucket(*per_minute)) : std::nullopt;
}

RateRefusal refusal(TenantId tenant, const char* what, const LeakyBucket& bucket,
                    std::uint64_t wait_ns) {
  const std::uint64_t retry_after_ms = (wait_ns + kNsPerMs - 1) / kNsPerMs;
  return {Error(ErrorCode::QuotaExceeded,
                "tenant " + std::to_string(static_cast<std::uint32_t>(tenant)) + ": " + what +
                    "_per_minute: the tenant used its " + std::to_string(bucket.per_minute()) +
                    " " + what + "; try again in " + std::to_string(retry_after_ms) + " ms"),
          retry_after_ms};
}

}  // namespace

// Rounded up, so that what is used in small parts takes no less.
std::uint64_t LeakyBucket::time_of(std::uint64_t count) const {
  const std::uint64_t minutes = count / per_minute_;
  if (minutes >= kLongest / kMinuteNs) return kLongest;
  const std::uint64_t rest = count % per_minute_;
  return minutes * kMinuteNs + (rest * kMinuteNs + per_minute_ - 1) / per_minute_;
}

std::uint64_t LeakyBucket::wait_ns(std::uint64_t now_ns, std::uint64_t count) const {
  const std::uint64_t level_ns = std::max(empty_at_ns_, now_ns) - now_ns;
  const std::uint64_t full_ns = std::max(time_of(per_minute_), time_of(count));
  return std::max(level_ns + time_of(count), full_ns) - full_ns;
}

void LeakyBucket::add(std::uint64_t now_ns, std::uint64_t count) {
  const std::uint64_t from_ns = std::max(empty_at_ns_, now_ns);
  empty_at_ns_ = std::min(from_ns + time_of(count), now_ns + kLongest);
}

TenantRates::TenantRates(const TenantRateLimits& limits, TokenCount token_count)
    : token_count_(std::move(token_count)) {
  for (const auto& [tenant, limit] : limits) {
    tenants_[tenant] = {bucket_of(limit.requests_per_minute), bucket_of(limit.launches_per_minute),
                        bucket_of(limit.tokens_per_minute), 0};
  }
}

std::optional<RateRefusal> TenantRates::take(TenantId tenant, Use use, std::uint64_t now_ns) {
  const auto found = tenants_.find(tenant);
  if (found == tenants_.end()) return std::nullopt;
  Tenant& of = found->second;
  if (of.tokens) {
    const std::uint64_t count = token_count_(tenant);
    of.tokens->add(now_ns, std::max(count, of.counted_tokens) - of.counted_tokens);
    of.counted_tokens = count;
    // One more would have to fit.
    const std::uint64_t wait = of.tokens->wait_ns(now_ns, 1);
    if (wait > 0) return refusal(tenant, "tokens", *of.tokens, wait);
  }
  std::optional<LeakyBucket>& bucket = use == Use::Request ? of.requests : of.launches;
  if (!bucket) return std::nullopt;
  const std::uint64_t wait = bucket->wait_ns(now_ns, 1);
  if (wait > 0) {
    return refusal(tenant, use == Use::Request ? "requests" : "launches", *bucket, wait);
  }
  bucket->add(now_ns, 1);
  return std::nullopt;
}

}  // namespace quire::access
