#include "application/sandbox/pool_plan.h"

#include <sys/mman.h>

#include <algorithm>
#include <string>
#include <vector>

namespace quire::sandbox {
namespace {

constexpr std::uint64_t kSmallGuard = 64u << 10;
constexpr std::uint64_t kFixedBytes = 256u << 20;  // Tables, code, and the heap beside the pool.
constexpr std::uint32_t kInstanceCountMin = 4;

bool can_reserve(std::uint64_t bytes) {
  void* memory =
      mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  munmap(memory, bytes);
  return true;
}

PoolPlan plan_of(std::uint32_t count, std::uint64_t reservation, std::uint64_t guard) {
  const std::uint64_t instance_bytes = reservation + guard + kGuestStackBytes;
  return {count, reservation, guard, kFixedBytes + guard + count * instance_bytes};
}

}  // namespace

Result<PoolPlan> plan_pool(std::uint32_t instance_count_max, std::uint64_t memory_bytes_max,
                           std::uint64_t address_space_bytes_max) {
  std::vector<PoolPlan> plans = {
      plan_of(instance_count_max, kWholeReservation, kWholeGuard),
      plan_of(instance_count_max, std::max<std::uint64_t>(256u << 20, memory_bytes_max),
              kSmallGuard),
  };
  const std::uint32_t count_min = std::min(kInstanceCountMin, instance_count_max);
  for (std::uint32_t count = instance_count_max; count >= count_min && count > 0; count /= 2) {
    plans.push_back(plan_of(count, memory_bytes_max, kSmallGuard));
  }
  for (const PoolPlan& plan : plans) {
    if (plan.total_bytes <= address_space_bytes_max && can_reserve(plan.total_bytes)) return plan;
  }
  return Error(ErrorCode::Unavailable,
               "no address space for Wasm instances: " + std::to_string(plans.back().total_bytes) +
                   " bytes are wanted for " + std::to_string(plans.back().instance_count) +
                   " of them and cannot be reserved (see ulimit -v)");
}

}  // namespace quire::sandbox
