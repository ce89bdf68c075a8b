#include "main/verbs/serve/operator_log.h"

#include <cstdio>
#include <ctime>
#include <utility>

#include "base/json.h"
#include "cli/terminal.h"
#include "main/verbs/shared/output.h"

namespace quire {
namespace {

using server::LogEvent;
using server::Severity;

const char* level_name(Severity severity) {
  switch (severity) {
    case Severity::Debug:
      return "debug";
    case Severity::Info:
      return "info";
    case Severity::Warning:
      return "warning";
    case Severity::Error:
      return "error";
  }
  return "error";
}

// The text for people; its label is painted on a terminal.
std::string labeled(const LogEvent& event) {
  const cli::Terminal terminal = cli::Terminal::standard_error();
  switch (event.severity) {
    case Severity::Warning:
      return warning_text(event.text);
    case Severity::Error:
      return error_text(event.text);
    case Severity::Debug:
    case Severity::Info:
      break;
  }
  return terminal.paint(event.text, cli::Colour::Grey);
}

// The event without its time.
OrderedJson json_of(const LogEvent& event) {
  OrderedJson json = {{"level", level_name(event.severity)}, {"event", event.name}};
  if (!event.text.empty()) json["message"] = event.text;
  for (const auto& [name, value] : event.fields) {
    std::visit([&json, key = name](const auto& each) { json[key] = each; }, value);
  }
  return json;
}

// JSON leaves DEL and the control characters from U+0080 on as they are, and a terminal obeys some of them.
// They are in strings alone, where an escape means the same.
std::string with_escaped_controls(const std::string& json) {
  std::string out;
  for (std::size_t at = 0; at < json.size(); ++at) {
    const auto byte = static_cast<unsigned char>(json[at]);
    const auto next = static_cast<unsigned char>(at + 1 < json.size() ? json[at + 1] : 0);
    const bool is_c1 = byte == 0xc2 && next >= 0x80 && next < 0xa0;
    if (!is_c1 && byte != 0x7f) {
      out += json[at];
      continue;
    }
    char escape[8];
    std::snprintf(escape, sizeof escape, "\\u%04x", is_c1 ? next : byte);
    out += escape;
    at += is_c1 ? 1 : 0;
  }
  return out;
}

LogEvent repeats_event(std::uint64_t count) {
  return {
      "repeated",
      Severity::Info,
      "the last line came " + std::to_string(count) + (count == 1 ? " more time" : " more times"),
      {{"count", count}}};
}

}  // namespace

std::string utc_time(std::uint64_t unix_ms) {
  const auto seconds = static_cast<std::time_t>(unix_ms / 1000);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[64];
  const std::size_t length = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  std::snprintf(text + length, sizeof text - length, ".%03uZ",
                static_cast<unsigned>(unix_ms % 1000));
  return text;
}

OperatorLog::~OperatorLog() {
  const std::lock_guard lock(mutex_);
  tell_repeats(clock_.now_unix_ms());
}

std::string log_line(cli::LogFormat format, const LogEvent& event, std::uint64_t now_ms) {
  if (format == cli::LogFormat::Text) return labeled(event);
  OrderedJson json = {{"time", utc_time(now_ms)}};
  json.update(json_of(event));
  return with_escaped_controls(dump_json(json));
}

LogEvent dropped_lines_event(std::uint64_t count) {
  return {"lines_dropped",
          Severity::Warning,
          std::to_string(count) +
              (count == 1 ? " line of this log was" : " lines of this log were") +
              " dropped: standard error did not take them in time",
          {{"count", count}}};
}

void OperatorLog::tell_repeats(std::uint64_t now_ms) {
  const std::uint64_t count = std::exchange(repeat_count_, 0);
  if (count > 0) write_(line_of(repeats_event(count), now_ms));
}

void OperatorLog::tell(const LogEvent& event) {
  if (is_for_people() && event.text.empty()) return;
  if (static_cast<std::uint8_t>(event.severity) < static_cast<std::uint8_t>(options_.level)) return;
  const std::uint64_t now_ms = clock_.now_unix_ms();
  const std::string content = is_for_people() ? event.text : dump_json(json_of(event));
  const std::lock_guard lock(mutex_);
  if (content == last_ && now_ms - last_ms_ < kRepeatMs) {
    ++repeat_count_;
    return;
  }
  tell_repeats(now_ms);
  last_ = content;
  last_ms_ = now_ms;
  write_(line_of(event, now_ms));
}

}  // namespace quire
