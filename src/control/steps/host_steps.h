#pragma once
// HostSteps: what needs no device, done as soon as what was issued before on the same objects is
// placed. Barriers of queues, embeds, and edits of contexts.
//
// Thread   engine thread only.
#include <cstdint>

#include "control/steps/context_steps.h"
#include "control/steps/steps.h"

namespace quire::control {

class HostSteps final : public Steps {
 public:
  HostSteps(const StepTools& tools, ContextSteps& contexts, TierTransfers& tiers)
      : Steps(tools), contexts_(contexts), tiers_(tiers) {}

  Attempt attempt(Operation& operation, BatchDraft* draft) override;

 private:
  Attempt embed_text(Operation& operation);
  Attempt fork(Operation& operation);
  Attempt reserve(Operation& operation, std::uint32_t count, BatchDraft* draft);
  Attempt edit(Operation& operation, BatchDraft* draft);
  Attempt splice(Operation& operation);
  Attempt hint(Operation& operation);
  Attempt drop(Operation& operation);
  Attempt destroy_queue(Operation& operation);
  void release_queue(QueueObject& queue);

  ContextSteps& contexts_;
  TierTransfers& tiers_;
};

}  // namespace quire::control
