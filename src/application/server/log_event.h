#pragma once
// LogEvent is one thing that happened to a server, for its operator: a name and fields for programs that
// read logs, and a text for people. Neither holds what a client sent or a program wrote, except for the
// lines of the log that a program has, and names of adapters, which check_adapter_name() has
// passed.
//
// docs/operate/README.md lists the names and their fields.
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace quire::server {

enum class Severity : std::uint8_t { Debug, Info, Warning, Error };

using LogValue = std::variant<std::string, std::uint64_t, std::int64_t, double>;
using LogFields = std::vector<std::pair<const char*, LogValue>>;

struct LogEvent {
  LogEvent(const char* event_name, Severity how, std::string for_people, LogFields all = {})
      : name(event_name), severity(how), text(std::move(for_people)), fields(std::move(all)) {}
  // A notice has a text alone.
  LogEvent(std::string for_people) : text(std::move(for_people)) {}
  LogEvent(const char* for_people) : text(for_people) {}

  const char* name = "notice";
  Severity severity = Severity::Info;
  std::string text;  // Empty: it is not for people, because their log would be full of it.
  LogFields fields;
};

// The caller's key, by its name; a server without keys has none.
inline void add_key_name(LogFields& fields, const std::string& key_name) {
  if (!key_name.empty()) fields.emplace_back("key", key_name);
}

// Called on any thread: the engine's, the io thread, and the disk's.
using TellOperator = std::function<void(const LogEvent&)>;

}  // namespace quire::server
