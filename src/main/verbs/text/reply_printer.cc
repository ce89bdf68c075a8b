#include "main/verbs/text/reply_printer.h"

#include <unistd.h>

#include <cstdio>

#include "base/utf8.h"
#include "cli/terminal.h"
#include "main/verbs/shared/output.h"

namespace quire {
namespace {

std::uint32_t columns_of(ReplyPrinter::Kind kind) {
  return cli::terminal_columns(kind == ReplyPrinter::Kind::Answer ? STDOUT_FILENO : STDERR_FILENO);
}

}  // namespace

ReplyPrinter::ReplyPrinter(Kind kind)
    : kind_(kind), wrap_({.width = columns_of(kind), .form = cli::WordWrap::Form::Markdown}) {}

void ReplyPrinter::add(std::string_view part) {
  wrap_.set_width(columns_of(kind_));  // A user may resize the window meanwhile.
  show(wrap_.add(part));
}

void ReplyPrinter::end() {
  show(wrap_.finish());
  if (kind_ == Kind::Answer) print(output_.finish());
  if (kind_ == Kind::Thoughts && last_byte_ != '\n') show("\n");
}

void ReplyPrinter::show(const std::string& text) {
  if (text.empty()) return;
  last_byte_ = text.back();
  if (kind_ == Kind::Answer) {
    print(output_.add(text));
    return;
  }
  const cli::Terminal terminal = cli::Terminal::standard_error();
  std::fputs(terminal.paint(printable_lines(text), cli::Colour::Grey).c_str(), stderr);
}

}  // namespace quire
