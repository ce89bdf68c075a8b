#pragma once
// BuildTurn is what one turn of building a batch found out, for the decision whether to build
// again.
//
// The steps and the room for pages set its facts, and StepFamilies::resolve_stuck() reads them.
#include "base/slab.h"
#include "control/objects/instance.h"

namespace quire::control {

struct BuildTurn {
  bool has_progress = false;       // Something finished without the device.
  bool has_sliced = false;         // A look-up goes on in the next build.
  bool has_suspended = false;      // Pages, or embed slots, will be free for the next build.
  bool has_spared_search = false;  // Something may be found that was not there the first time.
  // Found no room for all its rows, which cannot be parted: goes first in the next batch.
  Ref<Operation> first_next{};

  void begin() { has_progress = has_sliced = has_suspended = has_spared_search = false; }
};

}  // namespace quire::control
