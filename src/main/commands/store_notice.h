#pragma once
// Why there are no snapshots although the user may want them, on standard error; nothing where
// there are.
#include "main/machine/machine.h"

namespace quire {

// Programs that save nothing need not care; those that do get not-supported.
void tell_store_error(const Machine& machine);

}  // namespace quire
