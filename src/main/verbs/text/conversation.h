#pragma once
// Conversation turns messages into the tokens that one context still lacks, so that each turn
// computes only its own.
//
// Owns     the messages, and what the context holds.
// Thread   the main thread.
// Errors   what the model's template says.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "inference/api/text_codec.h"
#include "main/verbs/text/chat_messages.h"

namespace quire {

class Conversation {
 public:
  explicit Conversation(const inference::TextCodec& codec) : codec_(codec) { restore({}); }

  // From the next turn on; empty: no system message.
  void set_system(const std::string& system) { system_ = system; }

  struct Turn {
    std::vector<std::uint32_t> tokens;  // To append before the reply.
    // The past is written anew (the template drops old thoughts, say, or the system message is
    // another): the tokens are the whole conversation, for an empty context.
    bool starts_over = false;
  };
  Result<Turn> user_says(const std::string& message);

  // The reply ended: its text, whose tokens the context holds.
  Result<void> assistant_said(const std::string& text);

  const ChatMessages& messages() const { return messages_; }
  // The conversation is this one, and an empty context holds nothing of it yet.
  void restore(ChatMessages messages);

 private:
  using Ids = std::vector<std::uint32_t>;
  Result<Ids> closing() const;
  Result<Ids> encode(const ChatMessages& messages, bool add_generation_prompt) const;

  const inference::TextCodec& codec_;
  std::string system_;
  ChatMessages messages_;
  Ids history_;             // What the template makes of messages_, the last reply closed.
  std::optional<Ids> gap_;  // What the context lacks of history_; nothing: it cannot be continued.
};

}  // namespace quire
