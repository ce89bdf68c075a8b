#pragma once
// The numbers of instances and tenants, which every layer uses.
#include <cstdint>

namespace quire {

enum class InstanceId : std::uint64_t {};  // Never reused.
enum class TenantId : std::uint32_t {};

}  // namespace quire
