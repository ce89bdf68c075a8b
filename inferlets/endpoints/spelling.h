#pragma once
// How clients may spell the names of members.
#include <cstdint>
#include <string>
#include <string_view>

namespace endpoints {

// How a client may spell the name of a member: as it is, or "topP" also as "top_p".
enum class Spelling : std::uint8_t { Exact, CamelOrSnake };

// "topP" as "top_p".
inline std::string snake_case(std::string_view camel) {
  std::string out;
  for (const char each : camel) {
    const bool is_capital = each >= 'A' && each <= 'Z';
    if (is_capital) out += '_';
    out += is_capital ? static_cast<char>(each - 'A' + 'a') : each;
  }
  return out;
}

}  // namespace endpoints
