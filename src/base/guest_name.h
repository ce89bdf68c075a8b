#pragma once
// A guest name is the name that a program gives to a snapshot or to exported pages, for example. It
// has 1 to 255 bytes of UTF-8 without control characters (C0, DEL, C1), `/` and `\`, and is neither
// `.` nor `..`. Otherwise it is an opaque string: two names are one only if their bytes are equal.
//
// Thread   any; no state.
#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace quire {

inline constexpr std::uint32_t kGuestNameBytesMax = 255;

// InvalidArgument names the offence; `what` is the kind of name ("snapshot name").
Result<void> check_guest_name(std::string_view name, std::string_view what);

}  // namespace quire
