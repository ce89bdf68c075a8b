#pragma once
// UsageSink hears what instances used, for the accounts of an operator.
#include <cstdint>

#include "control/api/types.h"
#include "service/principal.h"

namespace quire::lifecycle {

struct UsageAmounts {
  std::uint64_t request_count = 0;  // HTTP requests to endpoints that launched their program.
  std::uint64_t launch_count = 0;   // Instances, children and those of requests included.
  // As prompt_token_count and generated_token_count of control::InstanceStatistics.
  std::uint64_t tokens_in = 0;
  std::uint64_t tokens_out = 0;
  std::uint64_t wall_ns = 0;  // From launch to end.
  UsageAmounts& operator+=(const UsageAmounts& more) {
    request_count += more.request_count;
    launch_count += more.launch_count;
    tokens_in += more.tokens_in;
    tokens_out += more.tokens_out;
    wall_ns += more.wall_ns;
    return *this;
  }
  bool operator==(const UsageAmounts&) const = default;
};

class UsageSink {
 public:
  virtual ~UsageSink() = default;
  // Engine thread; does not wait. `tenant`: of the instance, which an operator's key may choose.
  virtual void add(control::TenantId tenant, const service::Principal& caller,
                   const UsageAmounts& amounts) = 0;
};

}  // namespace quire::lifecycle
