#pragma once
// Steps does what operations of one family do when their turn comes.
//
// Thread   engine thread only.
// Errors   answered to the one whose operation it was.
#include <cstdint>

#include "base/result.h"
#include "control/batches/attempt.h"
#include "control/batches/batch_draft.h"
#include "control/batches/build_turn.h"
#include "control/batches/ready_queue.h"
#include "control/objects/operation_table.h"
#include "control/objects/replica.h"
#include "control/room/output_slots.h"
#include "control/room/page_room.h"
#include "control/room/quota.h"

namespace quire::control {

// The common tools of all families. They are lent, and outlive the families.
struct StepTools {
  Replica& replica;
  OperationTable& table;
  Quota& quota;
  PageRoom& room;
  OutputSlots& slots;
  ReadyQueue& ready;
  BuildTurn& turn;
};

// The tools, and what is reached by them.
class ToolUser {
 protected:
  explicit ToolUser(const StepTools& tools) : tools_(tools) {}
  Replica& replica() const { return tools_.replica; }
  ModelResources& resources() const { return tools_.replica.resources; }
  PageLedger& ledger(const Operation& operation) const {
    return tools_.replica.ledger(*operation.instance);
  }
  std::uint32_t page_size() const { return tools_.replica.resources.cache.page_size(); }

  const StepTools tools_;
};

class Steps : protected ToolUser {
 public:
  explicit Steps(const StepTools& tools) : ToolUser(tools) {}
  virtual ~Steps() = default;
  Steps(const Steps&) = delete;
  Steps& operator=(const Steps&) = delete;

  // Requires: the operation waits for no other. `draft`: the batch that is being built; null while
  // none is. An operation that needs a batch is attempted with one.
  virtual Attempt attempt(Operation& operation, BatchDraft* draft) = 0;
  // Ends it: what it was to write says why.
  virtual Attempt fail(Operation& operation, Error error);

 protected:
  Attempt finish(Operation& operation, AnswerBody answer) {
    tools_.table.finish(operation, std::move(answer));
    return Attempt::Done;
  }
  Attempt done(Operation& operation) { return finish(operation, AnswerBody(Done{})); }
  // Answers with the state of its context.
  Attempt finish_context(Operation& operation);
};

// The guest's name of the operation's context; kNoObject: of none.
ObjectId context_id(const Operation& operation);
Error no_page_table(const inference::BackendCapabilities& device);

}  // namespace quire::control
