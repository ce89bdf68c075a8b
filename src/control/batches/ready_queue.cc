#include "control/batches/ready_queue.h"

#include "control/contexts/context.h"

namespace quire::control {

std::uint32_t row_count_of(const Operation& operation, std::uint32_t page_size) {
  if (const Context* context = operation.context) {
    const bool may_have_lost_all = context->is_suspended;
    const std::size_t drafts = operation.read != nullptr ? operation.read->drafts.size() : 0;
    return queued_count(*context) +
           static_cast<std::uint32_t>(operation.requeries.size() + drafts) +
           (may_have_lost_all ? context->committed_count * page_size : 0);
  }
  return static_cast<std::uint32_t>(operation.input_embeds.size()) - operation.done_count;
}

std::uint32_t slot_count_of(const Operation& operation, std::uint32_t page_size) {
  if (const Context* context = operation.context) {
    return context->committed_count * page_size + context->written_count;
  }
  return static_cast<std::uint32_t>(operation.input_pages.size()) * page_size;
}

Candidate ReadyQueue::candidate_of(Operation& operation) const {
  const std::uint32_t page_size = replica_.resources.cache.page_size();
  const bool is_host = !needs_any(operation, needs::Batch);
  const bool has_rows = needs_any(operation, needs::Rows);
  const std::uint32_t row_count = has_rows ? row_count_of(operation, page_size) : 0;
  return {.operation = Ref<Operation>(&operation),
          .share = &replica_.share(*operation.instance),
          .age = operation.age,
          .deadline_ns = operation.instance->limits.deadline_ns,
          .since_ns = operation.ready_since_ns,
          .slot_count = has_rows ? slot_count_of(operation, page_size) : 0,
          .row_count = row_count,
          .priority = priority_of(operation),
          .is_prefill = is_prefill(row_count),
          .is_host = is_host};
}

void ReadyQueue::add_woken() {
  for (const Ref<Operation>& each : woken_) {
    if (Operation* operation = each.get()) add(*operation);
  }
  woken_.clear();
}

}  // namespace quire::control
