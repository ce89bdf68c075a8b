#include "main/verbs/run/program_log.h"

namespace quire {
namespace {

// A line that is indented, or ends what is, continues the line before.
std::string log_label(service::LogLevel level, std::string_view text) {
  constexpr const char* kLabels[] = {"debug: ", "info: ", "warning: ", "error: "};
  constexpr std::string_view kContinues = " \t}])";
  const bool goes_on = !text.empty() && kContinues.find(text[0]) != std::string_view::npos;
  return goes_on ? "" : kLabels[static_cast<std::size_t>(level)];
}

cli::Colour colour_of(service::LogLevel level) {
  switch (level) {
    case service::LogLevel::Error:
      return cli::Colour::Red;
    case service::LogLevel::Warning:
      return cli::Colour::Yellow;
    case service::LogLevel::Debug:
    case service::LogLevel::Info:
      break;
  }
  return cli::Colour::Grey;
}

}  // namespace

std::vector<ProgramLog::Line> ProgramLog::add(std::size_t program, const service::LogLine& said) {
  const std::string text(said.text);
  const bool is_log = said.source == service::LogSource::Log;
  if (is_log && said.level == service::LogLevel::Error) {
    held_[program].add(text);
    return {};
  }
  std::vector<Line> lines = take_held(program);
  if (is_log) {
    show(lines, said.level, text);
  } else {
    lines.push_back({text, colour_of(said.level)});
  }
  return lines;
}

std::vector<ProgramLog::Line> ProgramLog::take_held(std::size_t program, std::string_view reason) {
  std::vector<Line> lines;
  auto held = held_.extract(program);
  if (held.empty()) return lines;
  for (const std::string& each : held.mapped().take_before(reason)) {
    show(lines, service::LogLevel::Error, each);
  }
  return lines;
}

std::optional<std::size_t> ProgramLog::holder() const {
  if (held_.empty()) return std::nullopt;
  return held_.begin()->first;
}

void ProgramLog::show(std::vector<Line>& lines, service::LogLevel level,
                      const std::string& text) const {
  if (static_cast<std::uint8_t>(level) < static_cast<std::uint8_t>(level_)) return;
  lines.push_back({log_label(level, text) + text, colour_of(level)});
}

}  // namespace quire
