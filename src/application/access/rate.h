#pragma once
// Rates hold tenants to what they may use in a minute: requests to endpoints, launches, tokens. Each
// is a leaky bucket of one minute's worth. A tenant that used nothing may use all of that at once,
// and from then on it may use what flows back. (Turner, "New Directions in Communications", 1986; as
// lifecycle/first_runs.h.)
//
// Tokens are known only once they were asked for. So a tenant that is over its tokens is refused the
// next request or launch, and its running programs go on.
//
// Thread   that of its owner; the time is passed in.
// Errors   QuotaExceeded names tenant, rate and figures; the refusal says when the same fits.
#include <cstdint>
#include <functional>
#include <map>
#include <optional>

#include "base/instance_id.h"
#include "base/result.h"

namespace quire::access {

inline constexpr std::uint64_t kRateMax = 1u << 28;

class LeakyBucket {
 public:
  // `per_minute`: from 1 to kRateMax.
  explicit LeakyBucket(std::uint64_t per_minute) : per_minute_(per_minute) {}

  // The time until `count` more fit; 0 if they fit now. More than a minute's worth fits once nothing is used.
  std::uint64_t wait_ns(std::uint64_t now_ns, std::uint64_t count) const;
  // Used, whether it fits or not.
  void add(std::uint64_t now_ns, std::uint64_t count);
  std::uint64_t per_minute() const { return per_minute_; }

 private:
  // How long `count` takes to flow out.
  std::uint64_t time_of(std::uint64_t count) const;

  std::uint64_t per_minute_;
  std::uint64_t empty_at_ns_ = 0;  // When all that was used has flowed out.
};

// None: no limit.
struct RateLimits {
  std::optional<std::uint64_t> requests_per_minute = {};
  std::optional<std::uint64_t> launches_per_minute = {};
  std::optional<std::uint64_t> tokens_per_minute = {};
  bool operator==(const RateLimits&) const = default;
};
using TenantRateLimits = std::map<TenantId, RateLimits>;

struct RateRefusal {
  Error error;
  std::uint64_t retry_after_ms = 0;
};

class TenantRates {
 public:
  enum class Use : std::uint8_t { Request, Launch };
  // Tokens that instances of the tenant have asked for, ever.
  using TokenCount = std::function<std::uint64_t(TenantId)>;

  // `token_count` is asked only for tenants whose tokens are limited.
  TenantRates(const TenantRateLimits& limits, TokenCount token_count);

  // None: it may, and is counted.
  std::optional<RateRefusal> take(TenantId tenant, Use use, std::uint64_t now_ns);

 private:
  struct Tenant {
    std::optional<LeakyBucket> requests, launches, tokens;
    std::uint64_t counted_tokens = 0;
  };

  std::map<TenantId, Tenant> tenants_;
  const TokenCount token_count_;
};

}  // namespace quire::access
