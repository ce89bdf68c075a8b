#pragma once
// StoreSteps: contexts are saved to the store, and opened from it.
//
// Owns     the saves and the opens under way.
// Thread   engine thread only.
#include "control/steps/context_steps.h"
#include "control/steps/steps.h"
#include "control/transfers/snapshot_opens.h"
#include "control/transfers/snapshot_saves.h"

namespace quire::control {

class StoreSteps final : public Steps {
 public:
  StoreSteps(const StepTools& tools, ContextSteps& contexts)
      : Steps(tools),
        contexts_(contexts),
        saves_(tools.replica.resources, tools.table, tools.replica.store),
        opens_(tools.replica.resources, tools.table, tools.replica.store) {}

  Attempt attempt(Operation& operation, BatchDraft* draft) override;
  Attempt fail(Operation& operation, Error error) override;
  // The operation's instance ends.
  void abandon(Operation& operation);

  TransferOwner& opens() { return opens_; }
  TransferOwner& saves() { return saves_; }

 private:
  Attempt save(Operation& operation);
  Attempt open(Operation& operation, BatchDraft& draft);

  ContextSteps& contexts_;
  SnapshotSaves saves_;
  SnapshotOpens opens_;
};

}  // namespace quire::control
