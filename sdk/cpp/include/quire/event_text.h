#pragma once
// quire::serve: an event of a response of type text/event-stream, as its lines.
#include <string>
#include <string_view>

namespace quire::serve {

struct Event {
  std::string name = {};  // Empty: the client takes it for "message".
  std::string id = {};
};

// The data may have several lines.
inline std::string event_text(std::string_view data, const Event& event = {}) {
  std::string text;
  if (!event.name.empty()) text += "event: " + event.name + "\n";
  if (!event.id.empty()) text += "id: " + event.id + "\n";
  for (std::size_t start = 0; start != std::string_view::npos;) {
    const std::size_t end = data.find('\n', start);
    text += "data: ";
    text += data.substr(start, end == std::string_view::npos ? end : end - start);
    text += '\n';
    start = end == std::string_view::npos ? end : end + 1;
  }
  return text + "\n";
}

}  // namespace quire::serve
