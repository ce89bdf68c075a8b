#pragma once
// The text of a number that a rule cannot have, as the host says it.
#include <cstdio>
#include <string>

#include "quire/sampling.h"

namespace quire::detail {

inline std::string out_of_range_text(const sampling::OutOfRange& wrong) {
  char value[32];
  std::snprintf(value, sizeof value, "%.9g", wrong.value);
  return std::string(wrong.name) + " must be " + wrong.range + ", not " + value;
}

}  // namespace quire::detail
