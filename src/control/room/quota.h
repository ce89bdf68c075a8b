#pragma once
// Quota says what an instance and its tenant may hold of a replica, and compute.
//
// An instance's limit of pages is for all models together, and so is its tenant's. What a
// suspension took counts as held: it is to come back (contexts/away_pages.h).
//
// Owns     nothing; reads ledgers.
// Thread   engine thread only.
// Errors   QuotaExceeded, with the name of the limit and what is held.
#include <cstdint>

#include "base/result.h"
#include "control/objects/replica.h"

namespace quire::control {

class Quota {
 public:
  explicit Quota(Replica& replica) : replica_(replica) {}

  // Whether the instance may have `count` pages more. For `returning`, those that it gave up to a
  // suspension are not more.
  Result<void> may_hold(Instance& instance, std::uint32_t count,
                        const Context* returning = nullptr) const;
  // Whether it may hold the page of that name, which is resident.
  Result<void> may_find(Instance& instance, NodeId node) const;
  // Counts tokens that are to be computed; QuotaExceeded where they are too many, and counts none.
  static Result<void> may_compute(Instance& instance, std::uint64_t count);
  // Tokens that the instance may still compute.
  static std::uint64_t computable_count(const Instance& instance);
  // Counts drafts that stand, which were computed before it was known whether they would.
  static void note_computed(Instance& instance, std::uint64_t count);
  // The most pages that the instance may hold of this replica. Its tenant's limit never keeps it
  // from having back the pages that it gave up to a suspension.
  std::uint32_t of(Instance& instance) const;
  // Why it may not have so many more.
  Error beyond(Instance& instance, std::uint32_t count) const;

 private:
  std::uint32_t own(Instance& instance) const;  // By its own limit alone.
  Error beyond_tenant(const Instance& instance, std::uint32_t count) const;

  Replica& replica_;
};

}  // namespace quire::control
