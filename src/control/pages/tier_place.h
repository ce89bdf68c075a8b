#pragma once
#include <cstdint>

namespace quire::control {

// The place of a page's bytes outside of the pool. Leaving: a batch reads them off the device.
enum class TierPlace : std::uint8_t { None, Leaving, Host, Disk };

}  // namespace quire::control
