#pragma once
// How many files this process may have open.
#include <cstdint>

namespace quire {

// Raises the limit to `wanted` where it is lower and may be raised; what it is now.
std::uint64_t allow_open_files(std::uint64_t wanted);

}  // namespace quire
