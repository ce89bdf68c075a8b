#include "control/room/output_slots.h"

#include <string>

namespace quire::control {
namespace {

Error beyond_outputs(const std::string& whose, std::uint32_t more, std::uint32_t held,
                     std::uint32_t limit, std::uint32_t slot_count) {
  return Error(ErrorCode::QuotaExceeded,
               "output_embed_count_max: " + std::to_string(more) + " more wanted for outputs, " +
                   whose + " take " + std::to_string(held) + " of " + std::to_string(limit) +
                   ", half of what other holders leave of " + std::to_string(slot_count));
}

}  // namespace

Result<bool> OutputSlots::may_take(const Operation& operation, OutputRange outputs) {
  const auto& slots = replica_.resources.embed_slots;
  std::uint32_t more = 0;
  for (std::uint32_t each = 0; each < outputs.count; ++each) {
    more += operation.output_embeds[outputs.first + each]->state != EmbedState::Output;
  }
  TRY(check_share(*operation.instance, more));
  if (outputs.count <= slots.free_count()) return true;
  if (outputs.count > slots.free_count_soon()) {
    return Error(ErrorCode::Unavailable, "no free embed slot: " + std::to_string(outputs.count) +
                                             " wanted, " + std::to_string(slots.free_count()) +
                                             " of " + std::to_string(slots.slot_count()) + " free");
  }
  turn_.has_suspended = true;
  return false;
}

Result<void> OutputSlots::check_share(const Instance& instance, std::uint32_t more) const {
  if (more == 0) return {};
  const std::uint32_t slot_count = replica_.resources.embed_slots.slot_count();
  const std::uint32_t taken = replica_.resources.embed_slots.taken_count();
  const auto limit = [&](std::uint32_t held) { return (slot_count - (taken - held)) / 2; };
  const std::uint32_t own = replica_.ledger(instance).output_count();
  if (table_.instances.size() > 1 && own + more > limit(own)) {
    return beyond_outputs("this program's", more, own, limit(own), slot_count);
  }
  const std::uint32_t tenants = replica_.share(instance).output_count;
  if (replica_.shares.active_count() > 1 && tenants + more > limit(tenants)) {
    const auto tenant = static_cast<std::uint32_t>(instance.tenant);
    return beyond_outputs("those of tenant " + std::to_string(tenant), more, tenants,
                          limit(tenants), slot_count);
  }
  return {};
}

}  // namespace quire::control
