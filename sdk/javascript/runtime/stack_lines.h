#pragma once
// The lines of a stack that are in the script: those of the SDK's own modules, and of functions of
// the host, are passed over. A line is "    at f (agent.ts:12:5)" or "    at agent.ts:12:5".
#include <algorithm>
#include <string>
#include <string_view>

namespace quire::javascript {

// The place of the first of them: "agent.ts:12"; "" if there is none.
inline std::string place_in(std::string_view stack) {
  while (!stack.empty()) {
    std::string_view line = stack.substr(0, stack.find('\n'));
    stack.remove_prefix(std::min(line.size() + 1, stack.size()));
    constexpr std::string_view kFrame = "    at ";
    if (!line.starts_with(kFrame)) continue;
    const std::size_t bracket = line.rfind('(');
    line.remove_prefix(bracket != std::string_view::npos ? bracket + 1 : kFrame.size());
    if (line.ends_with(")")) line.remove_suffix(1);
    const std::size_t column = line.rfind(':');
    // A text that eval or JSON.parse reads has no file: it is "<input>".
    if (column == std::string_view::npos || line.starts_with("quire") || line.starts_with("<"))
      continue;
    line = line.substr(0, column);
    if (line.rfind(':') == std::string_view::npos) continue;
    return std::string(line);
  }
  return "";
}

// All of them.
inline std::string script_frames(std::string_view stack) {
  std::string out;
  while (!stack.empty()) {
    const std::string_view line = stack.substr(0, stack.find('\n'));
    stack.remove_prefix(std::min(line.size() + 1, stack.size()));
    if (place_in(line).empty()) continue;
    out += line;
    out += '\n';
  }
  return out;
}

}  // namespace quire::javascript
