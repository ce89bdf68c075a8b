#pragma once
// ChatCommands does what a line that begins with a slash asks for. What it says goes to standard error.
//
// Thread   the main thread.
// Errors   InvalidArgument for a command that does not exist or that lacks something; those of the store and the settings.
//          They leave the chat as it was.
#include <optional>
#include <string>
#include <vector>

#include "cli/options.h"
#include "main/verbs/text/chat_partner.h"
#include "main/verbs/text/chat_store.h"

namespace quire {

class ChatCommands {
 public:
  // All of it outlives this. Without a store nothing can be saved, for the reason that the folder could not be named.
  ChatCommands(ChatPartner& partner, cli::ChatSettings& settings, const Result<std::string>& folder)
      : partner_(partner), settings_(settings), folder_(folder) {}

  enum class Then : unsigned char { GoOn, Quit };
  // `line` without its slash, as "set temperature 0.7".
  Result<Then> run(const std::string& line);
  // The lines that may follow from `before`; none if it is not a command.
  std::vector<std::string> completions(const std::string& before) const;

 private:
  Result<void> set(const std::string& name, const std::string& value);
  Result<void> save(const std::string& name);
  Result<void> load(const std::string& name);
  Result<ChatStore> store() const;

  ChatPartner& partner_;
  cli::ChatSettings& settings_;
  const Result<std::string>& folder_;
};

}  // namespace quire
