#include "control/controller/completion_inbox.h"

#include <utility>

#include "base/check.h"

namespace quire::control {

void CompletionInbox::complete(inference::Completion completion) {
  QUIRE_CHECK(batches_.try_push(std::move(completion)), "a completion without a reserved slot");
  wakeup_.notify();
}

void CompletionInbox::deliver(TextOutcome outcome) {
  QUIRE_CHECK(texts_.try_push(std::move(outcome)), "a text job without a reserved slot");
  wakeup_.notify();
}

}  // namespace quire::control
