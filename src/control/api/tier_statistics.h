#pragma once
#include <cstdint>

namespace quire::control {

// Pages outside of the device, and the cost of bringing them back.
struct TierStatistics {
  std::uint32_t host_page_count = 0;      // In host memory,
  std::uint32_t disk_page_count = 0;      // and on disk.
  std::uint64_t kept_page_count = 0;      // That came to a tier, ever.
  std::uint64_t restored_page_count = 0;  // That went back to the device.
  std::uint64_t lost_page_count = 0;     // Evicted though they were worth keeping: no room or time.
  std::uint64_t damaged_page_count = 0;  // Whose bytes were wrong, or could not be moved.
  std::uint64_t swap_count = 0;          // Contexts that could only be suspended to a tier.
  // As measured, of the first model; 0 tokens: not measured yet.
  double compute_ns_per_token = 0;
  double load_ns_per_page = 0;  // From memory to the device.
  double read_ns = 0;           // Of one job of the disk, beside its pages.
  double read_ns_per_page = 0;
};

}  // namespace quire::control
