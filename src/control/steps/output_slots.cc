// Slots of the device for what passes put out, until the embed gets something else or is given
// back.
//
// Nobody else can take one back, so nobody may have them all: while other tenants have instances, a
// tenant's outputs take at most half of what those of the others leave, and an instance's likewise
// among instances. So however many come that want all they can get, there is something left for the
// next one. Who is alone may have everything.
#include <algorithm>
#include <string>

#include "control/scheduler/scheduler.h"

namespace quire::control {

// Those found first, then those computed: both follow one another.
Scheduler::OutputRange Scheduler::context_outputs(const Operation& operation,
                                                  std::uint32_t requery_count,
                                                  std::uint32_t chunk) {
  if (operation.output_embeds.empty()) return {};
  const auto wanted = static_cast<std::uint32_t>(operation.output_embeds.size());
  const auto queued = static_cast<std::uint32_t>(operation.output_tokens.size());
  const std::uint32_t output_first = operation.total_count - queued;
  const std::uint32_t begin = std::max(operation.done_count, output_first);
  const std::uint32_t end = operation.done_count + chunk;
  const std::uint32_t computed = queued == 0 || end <= begin ? 0 : end - begin;
  const std::uint32_t first = requery_count > 0 ? operation.requeries.front().output
                                                : begin - output_first + (wanted - queued);
  return {.first = first, .count = requery_count + computed};
}

// Of the last rows of the pass.
Scheduler::OutputRange Scheduler::forward_outputs(const Operation& operation,
                                                  std::uint32_t row_count) {
  const auto output_first =
      static_cast<std::uint32_t>(operation.input_embeds.size() - operation.output_embeds.size());
  const std::uint32_t begin = std::max(operation.done_count, output_first);
  const std::uint32_t end = operation.done_count + row_count;
  if (end <= begin) return {};
  return {.first = begin - output_first, .count = end - begin};
}

std::optional<Scheduler::Attempt> Scheduler::want_slots(Operation& operation, OutputRange outputs) {
  std::uint32_t more = 0;
  for (std::uint32_t each = 0; each < outputs.count; ++each) {
    more += operation.output_embeds[outputs.first + each]->state != EmbedState::Output;
  }
  if (Result<void> checked = check_output_count(*operation.instance, more); !checked.ok()) {
    return fail(operation, std::move(checked).take_error());
  }
  if (outputs.count <= resources_.embed_slots.free_count()) return std::nullopt;
  if (outputs.count > resources_.embed_slots.free_count_soon()) {
    return fail(operation, no_embed_slot(outputs.count));
  }
  has_suspended_ = true;
  return Attempt::Later;
}

namespace {

Error beyond_outputs(const std::string& whose, std::uint32_t more, std::uint32_t held,
                     std::uint32_t limit, std::uint32_t slot_count) {
  return Error(ErrorCode::QuotaExceeded,
               "output_embed_count_max: " + std::to_string(more) + " more wanted for outputs, " +
                   whose + " take " + std::to_string(held) + " of " + std::to_string(limit) +
                   ", half of what others leave of " + std::to_string(slot_count));
}

}  // namespace

Result<void> Scheduler::check_output_count(const Instance& instance, std::uint32_t more) const {
  if (more == 0) return {};
  const auto model = static_cast<std::size_t>(options_.model);
  const std::uint32_t slot_count = resources_.embed_slots.slot_count();
  const std::uint32_t taken = resources_.embed_slots.taken_count();
  const auto limit = [&](std::uint32_t held) { return (slot_count - (taken - held)) / 2; };
  const std::uint32_t own = instance.ledgers[model].output_count();
  if (table_.instances.size() > 1 && own + more > limit(own)) {
    return beyond_outputs("this program's", more, own, limit(own), slot_count);
  }
  const std::uint32_t tenants = instance.shares[model]->output_count;
  if (shares_.active_count() > 1 && tenants + more > limit(tenants)) {
    const auto tenant = static_cast<std::uint32_t>(instance.tenant);
    return beyond_outputs("those of tenant " + std::to_string(tenant), more, tenants,
                          limit(tenants), slot_count);
  }
  return {};
}

Error Scheduler::no_embed_slot(std::uint32_t wanted) const {
  return Error(ErrorCode::Unavailable,
               "no free embed slot: " + std::to_string(wanted) + " wanted, " +
                   std::to_string(resources_.embed_slots.free_count()) + " of " +
                   std::to_string(resources_.embed_slots.slot_count()) + " free");
}

}  // namespace quire::control
