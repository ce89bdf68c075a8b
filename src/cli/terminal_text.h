#pragma once
// TerminalText makes the bytes of a program or of a model fit for standard output. On a terminal
// they could otherwise set its title, read what it shows or hide text: control characters, except
// tab and newline, and bytes that are not UTF-8 are written as \xNN there. Anywhere else the bytes
// stay as they are.
//
// Owns     the begin of a character whose other bytes have not come yet.
// Thread   one at a time.
#include <string>
#include <string_view>

namespace quire::cli {

class TerminalText {
 public:
  explicit TerminalText(bool is_terminal) : is_terminal_(is_terminal) {}
  static TerminalText of_standard_output();

  // The text to write now for these bytes.
  std::string add(std::string_view bytes);
  // The text for what was held back; after the last bytes.
  std::string finish();

 private:
  bool is_terminal_;
  std::string held_;
};

}  // namespace quire::cli
