// The verbs that explain the others: to a shell, and to people.
#include <memory>

#include "cli/rows.h"
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

Verb add_help(CLI::App& app) {
  auto words = std::make_shared<Words>();
  Rows rows(app, kHelpVerb, "Explain a verb, as --help does");
  rows.add({{"VERB", "", words.get(), "The verb; none: list the verbs"}});
  const std::string name = app.get_name();
  return rows.verb(
      "Examples:\n  " + name + " help\n  " + name + " help " + verbs_of(app).front()->get_name(),
      [words]() -> Result<Request> {
        return Error(ErrorCode::InvalidArgument,
                     "help takes the names of verbs alone, as in quire help run");
      });
}

}  // namespace quire::cli
