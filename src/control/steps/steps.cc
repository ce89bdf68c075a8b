#include "control/steps/steps.h"

#include <string>
#include <utility>

#include "control/contexts/context.h"
#include "control/objects/give_back.h"

namespace quire::control {

ObjectId context_id(const Operation& operation) {
  return std::visit(
      [](const auto& body) {
        if constexpr (requires { body.context; }) return body.context;
        return kNoObject;
      },
      static_cast<const CommandVariant&>(operation.body));
}

Error no_page_table(const inference::BackendCapabilities& device) {
  return Error(ErrorCode::Unavailable, "all " + std::to_string(device.sequence_count) +
                                           " page tables of the device are in use");
}

Attempt Steps::finish_context(Operation& operation) {
  return finish(operation, AnswerBody(ContextState{.context = context_id(operation),
                                                   .counters = operation.context->counters()}));
}

Attempt Steps::fail(Operation& operation, Error error) {
  // Once placed, its embeds may be another's by now: those that are not are marked when its pass
  // completes.
  if (operation.state != OperationState::Placed && needs_any(operation, needs::WritesOutput)) {
    for (EmbedObject* embed : operation.output_embeds) {
      give_back(*embed);
      embed->state = EmbedState::Failed;
      embed->error = error.copy();
    }
  }
  Context* context = operation.context;
  const bool computes =
      computes_context(operation) || (context != nullptr && context->tokens().lost_count() > 0);
  if (computes && context != nullptr && !context->is_suspended() && !context->is_in_flight()) {
    context->parts().trim_tail();
  }
  tools_.table.finish(operation, std::move(error));
  return Attempt::Done;
}

}  // namespace quire::control
