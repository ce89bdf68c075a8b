#pragma once
// Environment: the variables that an operator gives to a program, such as the key of a service. A
// program reads them as its language does (WASI). They appear in no report, log or figure, and
// children do not get them.
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace quire::hostcalls {

// The most variables of a program, and the most bytes of their names and values together.
inline constexpr std::size_t kEnvironmentCountMax = 64;
inline constexpr std::size_t kEnvironmentBytesMax = std::size_t{64} << 10;

struct EnvironmentVariable {
  std::string name;
  std::string value;
};
using Environment = std::vector<EnvironmentVariable>;
using EnvironmentHandle = std::shared_ptr<const Environment>;  // Null: no variables.

}  // namespace quire::hostcalls
