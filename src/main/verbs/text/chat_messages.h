#pragma once
// The messages of a chat as plain values.
#include <string>
#include <vector>

namespace quire {

enum class ChatRole : unsigned char { User, Assistant };

struct ChatMessage {
  ChatRole role = ChatRole::User;
  std::string content;
  bool operator==(const ChatMessage&) const = default;
};

// The user and the assistant take turns.
using ChatMessages = std::vector<ChatMessage>;

inline const char* role_name(ChatRole role) {
  return role == ChatRole::User ? "user" : "assistant";
}

}  // namespace quire
