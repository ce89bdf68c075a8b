#pragma once
// The valid names of a snapshot: those of base/guest_name.h.
#include <string_view>

#include "base/result.h"

namespace quire::store {

Result<void> check_snapshot_name(std::string_view name);  // InvalidArgument names the offence.

}  // namespace quire::store
