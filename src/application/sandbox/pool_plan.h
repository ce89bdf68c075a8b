#pragma once
// PoolPlan is how many instances the address space holds. wasmtime reserves each one's memory in
// advance, and ends the process if it cannot. So a reservation of that size is tried and given back
// first.
#include <cstdint>

#include "base/result.h"

namespace quire::sandbox {

struct PoolPlan {
  std::uint32_t instance_count = 0;
  // Each instance's. With 4 GiB, code needs no checks of addresses.
  std::uint64_t memory_reservation_bytes = 0;
  std::uint64_t memory_guard_bytes = 0;
  std::uint64_t total_bytes = 0;
};

// The reservation and the guard of the best plan.
inline constexpr std::uint64_t kWholeReservation = std::uint64_t{4} << 30;
inline constexpr std::uint64_t kWholeGuard = 32u << 20;

// The stack of calls. Scripts need it: each call of QuickJS takes up to 1.4 times as much of it as
// of the stack in the program's memory, where QuickJS counts (sdk/javascript/runtime/engine.h).
inline constexpr std::uint64_t kWasmStackBytesMax = 1u << 20;
inline constexpr std::uint64_t kGuestStackBytes = kWasmStackBytesMax + (1u << 20);

// The best plan of at most `instance_count_max` instances of `memory_bytes_max` that fits in
// `address_space_bytes_max` and can be reserved now. Unavailable, with the figures, where none can.
Result<PoolPlan> plan_pool(std::uint32_t instance_count_max, std::uint64_t memory_bytes_max,
                           std::uint64_t address_space_bytes_max);

}  // namespace quire::sandbox
