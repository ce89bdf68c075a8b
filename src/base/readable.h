#pragma once
// Numbers as people read them.
#include <cstdint>
#include <string>

namespace quire {

// 1234567 bytes as "1.2 MiB".
std::string readable_bytes(std::uint64_t bytes);

}  // namespace quire
