#pragma once
// Importance is the order in which operations get what there is too little of: pages, and slots for
// states. One order decides for all, both who is served first and who gives way. With two orders,
// two operations could take turns forever, or wait for one another.
#include <compare>
#include <cstdint>

namespace quire::control {

// Smaller is more important: the higher priority, then the older instance, then what was issued
// first.
struct Importance {
  int below_high;  // Priorities between it and the highest.
  std::uint64_t instance_order;
  std::uint64_t age;
  auto operator<=>(const Importance&) const = default;
};
inline constexpr Importance kNobody{.below_high = 255, .instance_order = 0, .age = 0};

}  // namespace quire::control
