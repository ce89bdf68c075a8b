#pragma once
// PromptOption: the prompt of a program, from its command line or from its client. The arguments of
// a launch may hold 1 MiB; what is longer the client sends.
//
//   --prompt TEXT        the text, or the words of the command line that belong to no option
//   --prompt -           the lines that the client sends: quire run PROGRAM -- --prompt - < FILE
//   --prompt-file NAME   a file that the client sends: quire run PROGRAM --send-file FILE -- ...
//
// Errors   invalid-argument: there is no prompt, or it is empty; not-found: the client sent another
//          file; timeout or unavailable: it sent none.
#include <chrono>
#include <string>
#include <utility>

#include "quire/files.h"
#include "quire/future.h"
#include "quire/options.h"
#include "quire/runtime.h"
#include "quire/task.h"

namespace quire {

class PromptOption {
 public:
  PromptOption() = default;
  explicit PromptOption(std::string otherwise) : given_(std::move(otherwise)) {}

  void read(OptionReader& in) {
    in.words("prompt", given_, "The text; - for the lines that the client sends");
    in.text("prompt-file", file_, "The name of a file that the client sends, which is the prompt");
  }

  Task<std::string> text() const {
    if (given_.empty() && file_.empty()) {
      co_await fail(ErrorCode::InvalidArgument,
                    "give a prompt: --prompt TEXT, --prompt - for lines of the client, or "
                    "--prompt-file NAME for a file that it sends");
    }
    std::string text = given_;
    if (!file_.empty()) {
      text = co_await received_file(file_);
    } else if (given_ == "-") {
      text = co_await received_lines();
    }
    if (text.empty()) co_await fail(ErrorCode::InvalidArgument, "the prompt is empty");
    co_return text;
  }

 private:
  static Task<std::string> received_file(std::string name) {
    constexpr std::chrono::seconds kTimeMax{
        10};  // A client that sends files sends the first at once.
    const Result<IncomingFile> file =
        co_await attempt(with_timeout(session::receive_file(), kTimeMax));
    if (!file.ok()) {
      co_await fail(file.error().code, "--prompt-file " + name +
                                           ": the client sent no file (quire run --send-file " +
                                           name + " sends it): " + file.error().message);
    }
    if (file.value().name() != name) {
      co_await fail(ErrorCode::NotFound, "--prompt-file " + name + ": the client sent the file " +
                                             file.value().name() + " first");
    }
    std::string text = co_await file.value().read_all();
    if (text.ends_with('\n')) text.pop_back();  // It ends the last line.
    co_return text;
  }

  // To the end of the client's input.
  static Task<std::string> received_lines() {
    std::string text;
    for (bool is_first = true;; is_first = false) {
      const Result<std::string> line = co_await attempt(session::receive());
      if (!line.ok() && line.error().code == ErrorCode::Unavailable) co_return text;
      if (!is_first) text += '\n';
      text += co_await line;
    }
  }

  std::string given_;
  std::string file_;
};

}  // namespace quire
