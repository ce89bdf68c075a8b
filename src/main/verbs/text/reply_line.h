#pragma once
// The line on standard error after each reply of a chat: how long it is, and how quickly it came.
#include <cstdint>
#include <optional>
#include <string>

#include "cli/terminal.h"

namespace quire {

struct ReplyFigures {
  bool is_stopped = false;
  std::optional<std::uint64_t> token_count = {};  // None: the server did not report it.
  double first_s = 0.0;                           // From the message to the first token.
  double decode_s = 0.0;                          // From there to the end.
  std::optional<std::uint64_t> prompt_count = {};
  std::uint64_t found_count = 0;  // Of the prompt, in the cache.
  std::string context = {};       // "context 120 of 8192"; empty: not known.
};

// On a terminal of so many columns the figures that matter least are left out until the rest fits.
// 0: it is not one.
std::string reply_line(const ReplyFigures& figures, std::uint32_t columns);
// After the newline that ends the reply. If the user wants no figures, the line says only that the
// reply was stopped.
void print_reply_line(const ReplyFigures& figures, const cli::Terminal& terminal,
                      bool shows_figures);

}  // namespace quire
