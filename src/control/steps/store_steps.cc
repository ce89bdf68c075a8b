#include "control/steps/store_steps.h"

#include <utility>

#include "base/check.h"
#include "control/contexts/context_limits.h"

namespace quire::control {

Attempt StoreSteps::attempt(Operation& operation, BatchDraft* draft) {
  if (is<ContextOpen>(operation)) return open(operation, *draft);
  if (const std::optional<Attempt> waits = contexts_.bring_back(operation, draft)) return *waits;
  return save(operation);
}

// Fails the operation, and leaves the context of an open empty.
Attempt StoreSteps::fail(Operation& operation, Error error) {
  if (is<ContextOpen>(operation)) {
    opens_.forget(operation);
    Context& context = *operation.context;
    const NodeId root = resources().cache.root_of(context.chain().head());
    context.drop();
    context.open(root);
  }
  return Steps::fail(operation, std::move(error));
}

void StoreSteps::abandon(Operation& operation) {
  if (is<ContextOpen>(operation)) opens_.abandon(operation);
  if (is<ContextSave>(operation)) saves_.abandon(operation);
}

Attempt StoreSteps::save(Operation& operation) {
  if (operation.context->tokens().overflow_count() >
      0) {  // A snapshot without them would be another context.
    return fail(operation, check_fits(*operation.context).take_error());
  }
  if (!saves_.has_room(operation.instance->tenant)) return Attempt::Later;
  if (Result<void> kept = SnapshotSaves::check(*operation.context, resources().cache); !kept.ok()) {
    return fail(operation, std::move(kept).take_error());
  }
  Context* shadow = tools_.table.contexts.make();
  shadow->bind(operation.context->owner());
  operation.context->fork_to(*shadow);
  operation.child = shadow;
  tools_.table.place(operation);  // Operations after it on the context need not wait for the disk.
  saves_.start(operation);
  return Attempt::Placed;
}

Attempt StoreSteps::open(Operation& operation, BatchDraft& draft) {
  Result<SnapshotOpens::Step> step = opens_.step(
      operation, draft,
      [&](NodeId node) { return tools_.quota.may_find(*operation.instance, node); },
      [&](std::uint32_t count) -> Result<bool> {
        TRY(tools_.quota.may_hold(*operation.instance, count));
        const bool may_take = tools_.room.can_take(operation, count, true);
        if (may_take) operation.wanted_page_count = 0;
        return may_take;
      });
  if (!step.ok()) return fail(operation, std::move(step).take_error());
  switch (step.value().end) {
    case SnapshotOpens::StepEnd::Waits:
      return Attempt::Blocked;
    case SnapshotOpens::StepEnd::Again:
      return Attempt::Later;
    case SnapshotOpens::StepEnd::WantsPages:
      return tools_.room.want(operation, step.value().wanted_page_count);
    case SnapshotOpens::StepEnd::Done:
      break;
  }
  tools_.table.finish(operation, AnswerBody(Opened{.context = context_id(operation),
                                                   .counters = operation.context->counters(),
                                                   .note = std::move(step.value().note)}));
  return Attempt::Done;
}

}  // namespace quire::control
