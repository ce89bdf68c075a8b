#pragma once
// OutputSlots says who may have slots of the device for what passes put out, until the embed gets
// something else or is given back.
//
// Nobody can take a slot back from its holder, so nobody may have them all: while other tenants have
// instances, a tenant's outputs take at most half of what those of the others leave, and an
// instance's likewise among instances. So however many come that want all they can get, something is
// left for the next one. A tenant that is alone may have everything.
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

  // For what is sure to have slots at little cost: where half of them are free after it, nobody can
  // have too many.
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
