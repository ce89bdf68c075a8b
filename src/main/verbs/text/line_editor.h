#pragma once
// LineEditor lets a user edit a line on the terminal before the program gets it. It has arrow keys
// and history, and takes a pasted text of several lines as one text. Only this class uses libedit.
//
// While a line is edited, the editor reads the signals of the terminal. Ctrl-C gives the line up.
// Ctrl-Z restores the terminal and stops the process. SIGTERM, SIGHUP and SIGQUIT restore the
// terminal and end the process. Threads that live meanwhile must have these signals blocked
// (base/blocked_signals.h).
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
  // Returns the texts that `before`, the text before the cursor, may become. If there are none, Tab
  // inserts a tab.
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
