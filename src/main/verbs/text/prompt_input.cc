#include "main/verbs/text/prompt_input.h"

#include <unistd.h>

#include <cstdint>

#include "base/file.h"
#include "main/verbs/shared/output.h"

namespace quire {
namespace {

constexpr std::uint64_t kPromptBytesMax = std::uint64_t{64} << 20;

// Editors and `echo` end a text with a newline, which a model would take for part of it.
std::string without_final_newline(std::string text) {
  if (text.ends_with('\n')) text.pop_back();
  if (text.ends_with('\r')) text.pop_back();
  return text;
}

}  // namespace

Result<std::string> read_prompt(const cli::PromptSource& source) {
  if (!source.file.empty() && source.file != "-") {
    return without_final_newline(TRY(read_input_file(source.file, kPromptBytesMax)));
  }
  const bool is_standard_input = source.file == "-" || source.text == "-";
  if (source.text && !is_standard_input) return *source.text;
  if (!is_standard_input && isatty(STDIN_FILENO) != 0) {
    return Error(
        ErrorCode::InvalidArgument,
        "--prompt TEXT, --prompt-file FILE or a text on standard input is needed: there is "
        "no prompt to continue");
  }
  return without_final_newline(TRY(read_standard_input()));
}

}  // namespace quire
