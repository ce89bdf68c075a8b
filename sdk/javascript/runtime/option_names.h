#pragma once
// The names of a script's options on the command line.
#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

namespace quire::javascript {

// "maxTokens" is --max-tokens.
inline std::string dashed(const std::string& name) {
  std::string out;
  for (const char each : name) {
    if (each >= 'A' && each <= 'Z') {
      out += '-';
      out += static_cast<char>(each + ('a' - 'A'));
    } else {
      out += each == '_' ? '-' : each;
    }
  }
  return out;
}
inline bool may_be_option(const std::string& name) {
  const auto is_letter = [](char each) {
    return (each >= 'a' && each <= 'z') || (each >= '0' && each <= '9') || each == '-';
  };
  return !name.empty() && name[0] != '-' && std::ranges::all_of(name, is_letter);
}
inline bool is_of_generation(const std::string& option) {
  constexpr std::string_view kNames[] = {"max-tokens", "temperature", "top-k", "top-p",
                                         "min-p",      "seed",        "stop",  "ignore-eos"};
  return std::ranges::find(kNames, option) != std::end(kNames);
}

}  // namespace quire::javascript
