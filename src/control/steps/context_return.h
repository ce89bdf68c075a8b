#pragma once
// ContextReturn brings back what a context gave up: pages on a tier, what a suspension took, and
// tokens whose pages went.
//
// Thread   engine thread only.
// Errors   answered to the one whose operation it was.
#include <cstdint>
#include <optional>

#include "control/steps/steps.h"
#include "control/transfers/tier_transfers.h"

namespace quire::control {

class ContextReturn : protected ToolUser {
 public:
  // `steps`: of the operations that it works for, which end by them.
  ContextReturn(const StepTools& tools, TierTransfers& tiers, Steps& steps)
      : ToolUser(tools), tiers_(tiers), steps_(steps) {}

  // Each of these functions returns nothing if no more is to come back; otherwise the outcome of
  // the operation's attempt.
  //
  // This one brings the bytes of a context that was swapped out.
  std::optional<Attempt> bring_swapped(Operation& operation, BatchDraft* draft);
  // Pages that the context's next tokens fill and only a tier has.
  std::optional<Attempt> fetch(Operation& operation, std::uint32_t page_count_max,
                               BatchDraft& draft);
  // Finds, or fetches, whole pages of lost tokens, and no other pages: the program's queued tokens
  // are not to be written yet.
  std::optional<Attempt> find_lost(Operation& operation, BatchDraft& draft);
  // A context that is suspended holds its pages again, as far as they are there.
  void resume(Context& context);
  // Whether another context of the instance computes, and has all the pages that it needs for that.
  bool others_go_on(const Operation& operation) const;

 private:
  TierTransfers& tiers_;
  Steps& steps_;
};

}  // namespace quire::control
