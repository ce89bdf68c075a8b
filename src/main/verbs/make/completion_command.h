#pragma once
// `quire completion`, and what its scripts ask when the user presses Tab.
#include <string_view>
#include <vector>

#include "cli/options_completion.h"

namespace quire {

const char* completion_script(cli::Shell shell);
// Prints the script. Returns an exit code of cli/exit_code.h.
int completion_command(const cli::CompletionOptions& options);

// Not for people: scripts of shells call it, with the words after "quire" up to the cursor.
inline constexpr std::string_view kCompleteVerb = "complete-words";
// Prints a line for each word that may stand there, with a tab and what it is, and ":files" and ":folders" where
// the shell adds those.
int complete_words_command(const std::vector<std::string>& words);

}  // namespace quire
