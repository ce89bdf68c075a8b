// The verb that teaches a shell the others.
#include <memory>

#include "cli/verb.h"

namespace quire::cli {
namespace {

constexpr Choice<Shell> kShells[] = {
    {"bash", Shell::Bash}, {"zsh", Shell::Zsh}, {"fish", Shell::Fish}};

}  // namespace

Verb add_completion(CLI::App& app) {
  auto options = std::make_shared<CompletionOptions>();
  Rows rows(app, "completion", "Print what makes a shell complete quire's words by Tab");
  rows.add({Flag{"SHELL", "", one_of(options->shell, "shell", kShells), "bash, zsh or fish"}
                .required()});
  return rows.verb(
      R"(It completes verbs, flags, values of flags, files, and the names of models and of programs that come with
quire. `make install` puts it where the shells look.

Examples:
  source <(quire completion bash)
  quire completion zsh > ~/.zfunc/_quire
  quire completion fish > ~/.config/fish/completions/quire.fish)",
      options);
}

}  // namespace quire::cli
