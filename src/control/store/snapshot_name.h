#pragma once
// Which names a snapshot may have: 1 to 255 bytes of UTF-8 without control characters (C0, DEL,
// C1),
// `/` and `\`, and neither `.` nor `..`. Everything else is an opaque string: two names are one
// only if their bytes are equal.
#include <string_view>

#include "base/result.h"

namespace quire::store {

Result<void> check_snapshot_name(std::string_view name);  // InvalidArgument names the offence.

}  // namespace quire::store
