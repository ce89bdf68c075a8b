#pragma once
// ChatMessage: a turn of a conversation.
#include <string>

namespace quire {

// Roles are those of the model's template: "system", "user", "assistant", often "tool".
struct ChatMessage {
  std::string role;
  std::string content;
  std::string more = {};  // Further members, as JSON without braces: "name":"add".
};

}  // namespace quire
