#pragma once
// MissLog remembers why tokens were computed that might have been found: the last `count_max`
// misses of one model, each with what it cost. A miss is a place in a context where a full page was
// looked up and not found; it lasts while tokens after it are computed, until one is found again.
//
// A program sees its own records only, and only if their reasons are of MissScope::OwnDomain; all
// others are for the operator (page_miss.h).
//
// Owns     a ring of records. Nothing is allocated before the first miss, nothing beyond the limit.
// Thread   engine thread only.
// Errors   none.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "control/api/types.h"
#include "control/pages/page_miss.h"

namespace quire::control {

struct MissRecord {
  std::uint64_t number = 0;  // From 1, in the order in which they happened.
  InstanceId instance{};
  ObjectId context{};
  std::uint64_t operation = 0;    // Age of the flush or forward that met it first.
  std::uint32_t page = 0;         // Index in the context of the page that was not found.
  std::uint32_t position = 0;     // Of the first token that was computed for it.
  std::uint32_t token_count = 0;  // Computed because of it.
  PageMiss why;
};

class MissLog {
 public:
  explicit MissLog(std::uint32_t count_max) : count_max_(count_max) {}

  bool is_on() const { return count_max_ > 0; }

  // Notes the outcome of the look-up of `record.operation`, in a context whose last miss since a
  // token was found is `last` (0: none). Returns the number of the miss that now counts: `last`, if
  // that only goes on.
  std::uint64_t note(std::uint64_t last, MissRecord record);
  // `operation` computes so many tokens of a context whose last miss is `last`.
  void count(std::uint64_t last, std::uint64_t operation, std::uint32_t token_count);

  std::uint64_t noted_count() const { return noted_count_; }
  // Older ones made room for newer.
  std::uint64_t forgotten_count() const { return noted_count_ - records_.size(); }
  // Oldest first; those with a number above `after`.
  template <typename Visit>
  void for_each(Visit visit, std::uint64_t after = 0) const {
    const std::uint64_t first = std::max(after, forgotten_count()) + 1;
    for (std::uint64_t number = first; number <= noted_count_; ++number) {
      visit(records_[(number - 1) % count_max_]);
    }
  }

 private:
  MissRecord* find(std::uint64_t number);

  const std::uint32_t count_max_;
  std::vector<MissRecord> records_;  // Number n at (n - 1) % count_max.
  std::uint64_t noted_count_ = 0;
};

}  // namespace quire::control
