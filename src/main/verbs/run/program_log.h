#pragma once
// ProgramLog turns what programs log into lines for people: after its level, and in its color. An
// error is held back, because a program may end with it.
//
// Owns     the errors that were held back.
// Thread   one at a time.
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options.h"
#include "cli/terminal.h"
#include "service/held_errors.h"
#include "service/said.h"

namespace quire {

class ProgramLog {
 public:
  // Lines below the level are left out.
  explicit ProgramLog(cli::LogLevel level) : level_(level) {}

  struct Line {
    std::string text;
    cli::Colour colour = cli::Colour::Grey;
  };
  // The lines that can be shown now, of the program with this number.
  std::vector<Line> add(std::size_t program, const service::LogLine& said);
  // The errors that were held back, without those that are the reason of the program's end.
  std::vector<Line> take_held(std::size_t program, std::string_view reason = {});
  // A program of which errors are held back.
  std::optional<std::size_t> holder() const;

 private:
  void show(std::vector<Line>& lines, service::LogLevel level, const std::string& text) const;

  const cli::LogLevel level_;
  std::map<std::size_t, service::HeldErrors> held_;
};

}  // namespace quire
