#pragma once
// Knobs are the settings that a seed draws for a PageProgram's machine. Coverage counts the cases
// that its programs met.
#include <cstdint>
#include <map>
#include <string>

#include "control/controller/controller.h"

namespace quire::control {

struct Knobs {
  std::uint32_t page_size = 16;
  std::uint32_t page_count = 64;
  std::uint32_t row_count_max = 64;
  std::uint32_t prefill_row_budget = 16;
  DispatchPolicy dispatch{};
  std::uint32_t sequence_count = 64;
  std::uint32_t hash_bits = 64;
  std::uint32_t failure_percent = 0;                        // Of passes.
  std::uint64_t tenant_bytes_max = std::uint64_t{1} << 30;  // Of snapshots.
  std::uint32_t host_page_count = 0;                        // Pages that the tiers of a model hold,
  std::uint32_t disk_page_count = 0;                        // in host memory and on disk.
  TierChoice tier_choice = TierChoice::Restore;
  std::uint32_t transfer_failure_percent = 0;  // Of pages on their way to and from them.
  bool has_pages_by_hand = true;  // They stay in the pool, and leave little of a small one.
  std::uint32_t state_count = 0;  // Slots for states; 0: the model has none.
  int step_count = 200;

  static Knobs of_seed(std::uint64_t seed);
  static Knobs with_states(std::uint64_t seed);  // Those of the seed, on a model with states.
  bool has_tiers() const { return host_page_count + disk_page_count > 0; }
};

using Coverage = std::map<std::string, std::uint64_t>;

}  // namespace quire::control
