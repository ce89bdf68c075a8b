#pragma once
// TransferOwner is the receiver of what becomes of its loads and saves.
//
// A load or a save belongs to the owner that put it into the batch. Each owner keeps its own record
// of what it moves, in the order in which it put it. A batch calls all owners, in one order, at the
// same points. So a further kind of transfer is a further owner, and no owner knows another.
//
// Thread   engine thread only.
#include <vector>

#include "base/result.h"
#include "base/slab.h"
#include "control/objects/instance.h"
#include "inference/api/page_bytes.h"

namespace quire::store {
struct DiskAnswer;
}

namespace quire::control {

class BatchDraft;
struct Flight;

struct LoadOutcome {
  Result<void> outcome;
  inference::PageBytes bytes;  // As they were given, whether the load failed or not.
};

// The outcomes of one owner's transfers in one batch, in the order in which it put them.
struct TransferOutcomes {
  std::vector<LoadOutcome> loads{};
  std::vector<Result<inference::PageBytes>> saves{};
};

// Functions with `woken` add the operations to it that are ready for their next step.
class TransferOwner {
 public:
  virtual ~TransferOwner() = default;

  // --- While a batch is built ---
  // Whether it has transfers for a batch, even if no operation is ready.
  virtual bool wants_batch() const { return false; }
  // No operation is placed yet: transfers that began before go on. True: it let pages go, which are
  // free for the next batch.
  virtual bool begin_build(BatchDraft& /*draft*/, std::vector<Ref<Operation>>& /*woken*/) {
    return false;
  }
  // All operations are placed: the saves come into the batch. True: as begin_build().
  virtual bool end_build(BatchDraft& /*draft*/) { return false; }
  // No operation waits for a batch: what the owner kept for the next one goes.
  virtual void drop_kept() {}

  // --- After it ---
  // The batch is done. Called for each batch, also if the owner has no transfer in it.
  virtual void transferred(const Flight& flight, TransferOutcomes outcomes,
                           std::vector<Ref<Operation>>& woken) = 0;
  // False: the answer is to a job of another owner.
  virtual bool deliver(store::DiskAnswer& answer, std::vector<Ref<Operation>>& woken) = 0;
  // Whether no operation waits for it.
  virtual bool is_idle() const = 0;
  // Whether what the disk does for it may free pages.
  virtual bool may_free() const = 0;
  // The slots of states that it holds for the batch under way.
  virtual std::vector<inference::StateSlot> held_states() const { return {}; }
};

}  // namespace quire::control
