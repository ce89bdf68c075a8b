#include "main/verbs/text/reply_line.h"

#include <unistd.h>

#include <cstdio>
#include <vector>

#include "main/verbs/shared/output.h"

namespace quire {
namespace {

enum class Detail : unsigned char { All, NoPrompt, NoFirst, Speed };
constexpr Detail kDetails[] = {Detail::All, Detail::NoPrompt, Detail::NoFirst, Detail::Speed};

std::string line_with(const ReplyFigures& figures, Detail detail) {
  std::vector<std::string> speed;
  if (figures.is_stopped) speed.emplace_back("stopped");
  if (figures.token_count) {
    const auto further = static_cast<double>(*figures.token_count) - 1.0;
    const double rate = further > 0 && figures.decode_s > 0 ? further / figures.decode_s : 0.0;
    speed.push_back(std::to_string(*figures.token_count) + " tokens");
    speed.push_back(decimal(rate, 1) + " tokens/s");
  }
  const bool shows_first = detail < Detail::NoFirst || !figures.token_count;
  if (shows_first) speed.push_back("first after " + decimal(figures.first_s * 1e3, 0) + " ms");
  std::string line;
  for (const std::string& each : speed) line += (line.empty() ? "[" : ", ") + each;
  if (figures.prompt_count && detail == Detail::All) {
    line += "; " + std::to_string(*figures.prompt_count) + " prompt tokens, " +
            std::to_string(figures.found_count) + " found in cache";
  }
  if (!figures.context.empty() && detail < Detail::Speed) line += "; " + figures.context;
  return line + "]";
}

}  // namespace

std::string reply_line(const ReplyFigures& figures, std::uint32_t columns) {
  std::string line;
  for (const Detail each : kDetails) {
    line = line_with(figures, each);
    if (columns == 0 || line.size() <= columns) break;
  }
  return line;
}

void print_reply_line(const ReplyFigures& figures, const cli::Terminal& terminal,
                      bool shows_figures) {
  print("\n");  // Of the answer, wherever it goes.
  if (!shows_figures && !figures.is_stopped) return;
  const std::string line =
      shows_figures ? reply_line(figures, cli::terminal_columns(STDERR_FILENO)) : "[stopped]";
  std::fprintf(stderr, "%s\n", terminal.paint(line, cli::Colour::Grey).c_str());
}

}  // namespace quire
