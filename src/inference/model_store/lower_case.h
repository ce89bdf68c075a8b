#pragma once
// Names are compared in the lower case of ASCII.
#include <string>
#include <string_view>

namespace quire::inference {

inline std::string in_lower_case(std::string_view text) {
  std::string lower(text);
  for (char& each : lower) {
    if (each >= 'A' && each <= 'Z') each = static_cast<char>(each - 'A' + 'a');
  }
  return lower;
}

}  // namespace quire::inference
