#pragma once
// TenantGauge is what the host calls of all instances of one tenant count together. The lifecycle
// owns it (tenant_meter.h) and sets its limit.
//
// Thread   engine thread only.
#include <cstdint>
#include <string>

#include "base/result.h"
#include "control/api/types.h"

namespace quire::hostcalls {

struct TenantGauge {
  control::TenantId tenant{};
  std::uint64_t http_exchange_count = 0;  // Open now.
  std::uint64_t http_exchange_count_max = ~std::uint64_t{0};

  // QuotaExceeded names tenant, limit and figures.
  Result<void> check_exchange() const {
    if (http_exchange_count < http_exchange_count_max) return {};
    return Error(ErrorCode::QuotaExceeded,
                 "tenant " + std::to_string(static_cast<std::uint32_t>(tenant)) +
                     ": http.exchange_count_max: " + std::to_string(http_exchange_count) + " of " +
                     std::to_string(http_exchange_count_max) +
                     " exchanges of its programs are open; wait for one to end");
  }
};

}  // namespace quire::hostcalls
