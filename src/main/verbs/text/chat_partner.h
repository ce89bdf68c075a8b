#pragma once
// ChatPartner is who answers in a chat: a model in an engine here, or one on a server.
//
// Thread   the main thread.
#include <string>

#include "base/result.h"
#include "cli/options.h"
#include "main/verbs/text/chat_messages.h"

namespace quire {

class ChatPartner {
 public:
  virtual ~ChatPartner() = default;

  // One message and its reply, as it comes, on standard output; then a line on its speed on standard error. Ctrl-C stops
  // the reply, of which the part that came is kept. The settings are read anew in each turn.
  virtual Result<void> turn(const std::string& message) = 0;
  virtual const ChatMessages& messages() const = 0;
  virtual const std::string& model() const = 0;
  virtual void clear() = 0;
  // The chat goes on after these.
  virtual void restore(ChatMessages messages) = 0;
  // Whether the partner can do what the settings say. InvalidArgument or NotSupported names the one that it cannot.
  virtual Result<void> check(const cli::ChatSettings& settings) const = 0;
};

}  // namespace quire
