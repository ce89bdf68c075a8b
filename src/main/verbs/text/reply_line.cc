#include "main/verbs/text/reply_line.h"

#include <cstdio>

#include "main/verbs/shared/output.h"

namespace quire {

std::string reply_line(const ReplyFigures& figures) {
  std::string line = figures.is_stopped ? "[stopped, " : "[";
  if (figures.token_count) {
    const auto further = static_cast<double>(*figures.token_count) - 1.0;
    const double rate = further > 0 && figures.decode_s > 0 ? further / figures.decode_s : 0.0;
    line += std::to_string(*figures.token_count) + " tokens, " + decimal(rate, 1) + " tokens/s, ";
  }
  line += "first after " + decimal(figures.first_s * 1e3, 0) + " ms";
  if (figures.prompt_count) {
    line += "; " + std::to_string(*figures.prompt_count) + " prompt tokens, " +
            std::to_string(figures.found_count) + " found in cache";
  }
  if (!figures.context.empty()) line += "; " + figures.context;
  return line + "]";
}

void print_reply_line(const ReplyFigures& figures, const cli::Terminal& terminal) {
  print("\n");  // Of the answer, wherever it goes.
  std::fprintf(stderr, "%s\n", terminal.paint(reply_line(figures), cli::Colour::Grey).c_str());
}

}  // namespace quire
