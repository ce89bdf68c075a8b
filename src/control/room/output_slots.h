#pragma once
// OutputSlots decides which operations may have slots of the device for outputs of passes, until
// the embed gets something else or is given back.
//
// A slot cannot be taken back from its holder, so no tenant may have them all. While other tenants
// have instances, a tenant's outputs take at most half of what those of all the others leave. The
// same holds for an instance among instances. So something is always left for the next one. A
// tenant that is alone may have everything.
//
// Thread   engine thread only.
// Errors   QuotaExceeded names the limit; Unavailable where none is free soon.
#include <cstdint>

#include "base/result.h"
#include "control/batches/build_turn.h"
#include "control/objects/operation_table.h"
#include "control/objects/replica.h"

namespace quire::control {

struct OutputRange {
  std::uint32_t first = 0;  // Index into the operation's output_embeds.
  std::uint32_t count = 0;
};

class OutputSlots {
 public:
  OutputSlots(Replica& replica, const OperationTable& table, BuildTurn& turn)
      : replica_(replica), table_(table), turn_(turn) {}

  // Whether the outputs surely fit at little cost: if half of the slots are free after them, the
  // share cannot be exceeded.
  bool has_ample(std::uint32_t output_limit) const {
    const auto& slots = replica_.resources.embed_slots;
    return output_limit == 0 || output_limit + slots.slot_count() / 2 <= slots.free_count();
  }
  // Whether those outputs of the operation can have theirs in this batch; false: in the next.
  Result<bool> may_take(const Operation& operation, OutputRange outputs);

 private:
  Result<void> check_share(const Instance& instance, std::uint32_t more) const;

  Replica& replica_;
  const OperationTable& table_;
  BuildTurn& turn_;
};

}  // namespace quire::control
