#pragma once
// LineEditor lets a user edit a line on the terminal before the program gets it: arrow keys, history, and a pasted
// text of several lines as one text. It is the only user of libedit.
//
// While a line is edited, the signals of the terminal are values: Ctrl-C gives the line up, Ctrl-Z stops the process with
// the terminal as it was, and SIGTERM, SIGHUP and SIGQUIT put the terminal right before they end the process.
// Threads that live meanwhile must have these signals blocked (base/blocked_signals.h).
//
// Owns     the terminal's modes while read() runs, and the process's LC_CTYPE from create() on, which is UTF-8.
// Thread   the main thread. Build it before another thread may ask for a locale.
// Errors   NotSupported if standard input or standard error is not a terminal that can edit; Io.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace quire {

class LineEditor {
 public:
  // What the text before the cursor may become, as whole texts; none: Tab inserts a tab.
  using Complete = std::function<std::vector<std::string>(const std::string& before)>;

  static Result<std::unique_ptr<LineEditor>> create(Complete complete);
  ~LineEditor();
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  enum class Got : unsigned char { Line, End, Interrupted };
  // `prompt` is painted as bold; a line of a paste, or one that Alt-Enter ended, may hold newlines.
  Got read(const std::string& prompt, std::string& line);
  // The newest entry that the up arrow finds.
  void add_history(const std::string& entry);

 private:
  struct Implementation;
  explicit LineEditor(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace quire
