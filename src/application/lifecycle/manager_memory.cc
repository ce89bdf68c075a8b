// The server's memory for programs: what instances have of it, and who loses it.
#include <optional>

#include "application/lifecycle/manager_implementation.h"
#include "base/check.h"

namespace quire::lifecycle {

std::uint64_t InstanceManager::Implementation::first_memory_of(ProgramId id) const {
  const ProgramStore::Entry* entry = programs.find(id);
  return entry == nullptr || entry->program == nullptr ? 0 : entry->program->first_memory_bytes();
}

// A tenant without an instance may always start one, or one that is larger than the tenant's share
// would wait forever. If one is larger than all that there is, start() refuses it.
bool InstanceManager::Implementation::has_memory_for(control::TenantId tenant,
                                                     ProgramId program) const {
  const std::uint64_t first_bytes = first_memory_of(program);
  return memory.has_room(tenant, first_bytes) || admission.instance_count(tenant) == 0 ||
         first_bytes > memory.bytes_max();
}

void InstanceManager::Implementation::charge_memory(InstanceRecord& record) {
  std::uint64_t bytes = record.state->held_bytes() + record.end.result.size();
  if (record.instance != nullptr) {
    bytes += record.instance->memory_bytes() + parts.control.pending(record.id).bytes;
    if (record.state->draws.has_matcher()) {
      bytes += parts.control.statistics(record.id).matcher_bytes;
    }
  }
  memory.charge(record.tenant, record.id, bytes);
}

void InstanceManager::Implementation::enforce_memory() {
  while (std::optional<ProgramMemory::Loser> loser = memory.loser()) {
    InstanceRecord* record = find(loser->id);
    QUIRE_CHECK(record != nullptr && record->stage != Stage::Ended, "M6");
    stop(*record, EndKind::LimitExceeded, std::move(loser->why), "program_memory_bytes_max");
  }
}

}  // namespace quire::lifecycle
