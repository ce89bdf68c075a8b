#pragma once
// The limits of an instance that may be set: what the command line reads and what the application
// obeys. Plain values, from the one table in instance_limits.inc.
#include <cstddef>
#include <cstdint>

namespace quire {

enum class LimitUnit : std::uint8_t { Count, Bytes, Nanoseconds };

// A number that JSON keeps exactly; 104 days of nanoseconds.
inline constexpr std::uint64_t kLimitMost = std::uint64_t{1} << 53;

struct InstanceLimitName {
  const char* name;
  LimitUnit unit;
  std::uint64_t least;
  std::uint64_t most;
};

inline constexpr InstanceLimitName kInstanceLimits[] = {
#define QUIRE_LIMIT(name, unit, least, most, member) {name, LimitUnit::unit, least, most},
#include "base/instance_limits.inc"
#undef QUIRE_LIMIT
};

struct InstanceLimitValue {
  std::size_t index = 0;  // In kInstanceLimits.
  std::uint64_t value = 0;
  bool operator==(const InstanceLimitValue&) const = default;
};

}  // namespace quire
