#pragma once
// Under which adapters tokens were appended: for names, for records and for the device.
//
// Thread   any; values.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
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

// A set with the weights that the device computes with (contexts/adapter_set.h). Null: the base
// model.
struct AdapterSet;
using AdapterSetRef = std::shared_ptr<const AdapterSet>;

// InvalidArgument for a set that is not by rising digest, has one twice, a scale that is zero or
// not finite, or more than kAdaptersInSetMax.
Result<void> check_adapter_set(std::span<const ScaledAdapter> set);

// InvalidArgument unless the runs are in the one canonical form for `slot_count` slots: their slots
// rise, adjacent runs differ, and the slots before the first run are of the base model.
Result<void> check_adapter_runs(std::span<const AdapterRun> runs, std::uint64_t slot_count);

// SlotAdapters holds the set of each logical slot of a context. `Set` points to a value with a
// member `set`, or is null for the base model; equal members are one set. Runs are few: they are
// looked up from the end, one by one.
template <typename Set>
class SlotAdapters {
 public:
  bool is_base() const { return runs_.empty(); }

  // Slots from `slot` on are of `set`. Requires: no run begins after `slot`.
  void extend(std::uint32_t slot, const Set& set) {
    if (!is_same(runs_.empty() ? Set{} : runs_.back().set, set)) runs_.push_back({slot, set});
  }
  // Nothing is said of slots from `length` on.
  void cut(std::uint32_t length) {
    while (!runs_.empty() && runs_.back().first_slot >= length) runs_.pop_back();
  }
  // Slots [begin, end) go, and the slots after them move up.
  void erase(std::uint32_t begin, std::uint32_t end) {
    const std::vector<Run> before = std::exchange(runs_, {});
    for (std::size_t index = 0; index < before.size(); ++index) {
      const std::uint32_t first = before[index].first_slot;
      const bool is_gone =
          first >= begin && index + 1 < before.size() && before[index + 1].first_slot <= end;
      if (is_gone) continue;
      extend(first < begin ? first : std::max(first, end) - (end - begin), before[index].set);
    }
  }
  // The set of one slot; null for a slot after the last one that was recorded, and for the base
  // model.
  Set at(std::uint32_t slot) const {
    for (std::size_t index = runs_.size(); index > 0; --index) {
      if (runs_[index - 1].first_slot <= slot) return runs_[index - 1].set;
    }
    return {};
  }
  // The runs of slots [begin, end), counted from `begin`: the form in which a page is named.
  std::vector<AdapterRun> of(std::uint32_t begin, std::uint32_t end) const {
    std::vector<AdapterRun> found;
    each(begin, end, [&](std::uint32_t first, const Set& set) {
      if (set == nullptr) {
        if (!found.empty()) found.push_back({first - begin, {}});
      } else {
        found.push_back({first - begin, set->set});
      }
    });
    return found;
  }
  // Calls visit(first slot, set) for each run that reaches into [begin, end), from left to right.
  template <typename Visit>
  void each(std::uint32_t begin, std::uint32_t end, Visit visit) const {
    if (begin < end && (runs_.empty() || runs_.front().first_slot > begin)) visit(begin, Set{});
    for (std::size_t index = 0; index < runs_.size(); ++index) {
      const std::uint32_t first = std::max(runs_[index].first_slot, begin);
      const std::uint32_t last = index + 1 < runs_.size() ? runs_[index + 1].first_slot : end;
      if (first < std::min(last, end)) visit(first, runs_[index].set);
    }
  }

 private:
  struct Run {
    std::uint32_t first_slot = 0;
    Set set;
  };
  static bool is_same(const Set& one, const Set& other) {
    if (one == other) return true;
    return one != nullptr && other != nullptr && one->set == other->set;
  }
  std::vector<Run> runs_;  // By rising slot; adjacent runs differ, the first is not the base model.
};

}  // namespace quire::control
