// The verb that teaches a shell the others.
#include <memory>
#include <string>

#include "base/utf8.h"
#include "cli/verb.h"

namespace quire::cli {

Verb add_completion(CLI::App& app) {
  auto shell = std::make_shared<std::string>();
  CLI::App* verb =
      app.add_subcommand("completion", "Print what makes a shell complete quire's words by Tab");
  verb->add_option("SHELL", *shell, "bash, zsh or fish")->type_name("bash|zsh|fish")->required();
  verb->footer(
      R"(It completes verbs, flags, values of flags, files, and the names of models and of programs that come with
quire. `make install` puts it where the shells look.

Examples:
  source <(quire completion bash)
  quire completion zsh > ~/.zfunc/_quire
  quire completion fish > ~/.config/fish/completions/quire.fish)");
  return {verb, [shell]() -> Result<Request> {
            if (*shell == "bash") return Request(CompletionOptions{Shell::Bash});
            if (*shell == "zsh") return Request(CompletionOptions{Shell::Zsh});
            if (*shell == "fish") return Request(CompletionOptions{Shell::Fish});
            return Error(ErrorCode::InvalidArgument,
                         "SHELL: " + in_quotes(*shell) + " is not bash, zsh or fish");
          }};
}

}  // namespace quire::cli
