#pragma once
// How many calls an instance has made, WASI's too, by who does their work (host_call.h, CallKind).
#include <cstdint>

namespace quire::hostcalls {

struct CallCounts {
  std::uint64_t control = 0;  // All that are not the device's.
  std::uint64_t device = 0;
};

}  // namespace quire::hostcalls
