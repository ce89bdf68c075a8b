#pragma once
// SlotRuns is what each logical slot of a context has of one kind: a value for each slot, kept as
// runs of slots that have the same. A slot that has nothing has the value T{}. Runs are few, so
// they are looked up from the end, one by one.
//
// It is a value: a fork copies it. The last run has no end; the context's length is
// known elsewhere, and cut() says it where the context becomes shorter.
//
// `Same` says which values are one: by default, those that are equal.
//
// Thread   any; values.
//
// Invariants, all checked by verify():
//   SR1  Runs begin at rising slots.
//   SR2  The values of adjacent runs differ, and that of the first is not T{}: there is one way to
//        write what the slots have.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "base/check.h"

namespace quire::control {

template <typename T, typename Same = std::equal_to<T>>
class SlotRuns {
 public:
  // No slot has anything.
  bool is_empty() const { return runs_.empty(); }

  // Slots from `slot` on have `value`. Requires: no run begins after `slot`.
  void extend(std::uint32_t slot, const T& value) {
    if (!Same()(runs_.empty() ? T{} : runs_.back().value, value)) runs_.push_back({slot, value});
  }
  // Nothing is recorded of slots from `length` on.
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
      extend(first < begin ? first : std::max(first, end) - (end - begin), before[index].value);
    }
  }
  // The value of one slot. A slot after the last one that was recorded has that one's.
  T at(std::uint32_t slot) const {
    for (std::size_t index = runs_.size(); index > 0; --index) {
      if (runs_[index - 1].first_slot <= slot) return runs_[index - 1].value;
    }
    return {};
  }
  // Calls visit(first slot, value) for each run that reaches into [begin, end), from left to right.
  // The first call is for `begin`, also where the slots there have nothing.
  template <typename Visit>
  void each(std::uint32_t begin, std::uint32_t end, Visit visit) const {
    if (begin < end && (runs_.empty() || runs_.front().first_slot > begin)) visit(begin, T{});
    for (std::size_t index = 0; index < runs_.size(); ++index) {
      const std::uint32_t first = std::max(runs_[index].first_slot, begin);
      const std::uint32_t last = index + 1 < runs_.size() ? runs_[index + 1].first_slot : end;
      if (first < std::min(last, end)) visit(first, runs_[index].value);
    }
  }
  std::size_t run_count() const { return runs_.size(); }

  void verify() const {
    for (std::size_t index = 0; index < runs_.size(); ++index) {
      const bool is_first = index == 0;
      QUIRE_CHECK(is_first || runs_[index - 1].first_slot < runs_[index].first_slot, "SR1");
      QUIRE_CHECK(!Same()(is_first ? T{} : runs_[index - 1].value, runs_[index].value), "SR2");
    }
  }

 private:
  struct Run {
    std::uint32_t first_slot = 0;
    T value{};
  };
  std::vector<Run> runs_;
};

}  // namespace quire::control
