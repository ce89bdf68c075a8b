#pragma once
// ExchangeId is the number of an HTTP exchange of a program.
#include <cstdint>

namespace quire::net {

enum class ExchangeId : std::uint64_t {};  // None is given out twice.

}  // namespace quire::net
