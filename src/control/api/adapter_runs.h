#pragma once
// Under which adapters tokens were appended: for names, for records and for the device.
//
// Thread   any; values.
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/sha256.h"

namespace quire::control {

// The most adapters of one set. A limit keeps the record and the name of a page small.
inline constexpr std::size_t kAdaptersInSetMax = 8;

// One of the adapters under which a token was appended.
struct ScaledAdapter {
  Digest digest{};  // Over its matrices and scales.
  float scale = 1.0f;
  bool operator==(const ScaledAdapter&) const = default;
};

// Slots from `first_slot` on, up to the next run, whose tokens were appended under one set of
// adapters: by rising digest, none twice, no scale zero. Empty: the base model.
struct AdapterRun {
  std::uint32_t first_slot = 0;
  std::vector<ScaledAdapter> set;
  bool operator==(const AdapterRun&) const = default;
};

// A set with the weights that the device computes with (contexts/chosen_adapters.h). Null: the base
// model.
struct ChosenAdapters;
using ChosenAdaptersRef = std::shared_ptr<const ChosenAdapters>;

// InvalidArgument for a set that is not by rising digest, has one twice, a scale that is zero or
// not finite, or more than kAdaptersInSetMax.
Result<void> check_adapter_set(std::span<const ScaledAdapter> set);

// InvalidArgument unless the runs are in the one canonical form for `slot_count` slots: their slots
// rise, adjacent runs differ, and the slots before the first run are of the base model.
Result<void> check_adapter_runs(std::span<const AdapterRun> runs, std::uint64_t slot_count);

}  // namespace quire::control
