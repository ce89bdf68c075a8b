#pragma once
// Conversation turns messages into the tokens that one context still lacks, so that each turn
// computes only its own.
//
// Owns     the messages, and what the context holds.
// Thread   the main thread.
// Errors   what the model's template says.
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "inference/api/text_codec.h"

namespace quire {

class Conversation {
 public:
  Conversation(const inference::TextCodec& codec, const std::string& system);

  struct Turn {
    std::vector<std::uint32_t> tokens;  // To append before the reply.
    // The template wrote the past anew (it drops old thoughts, say): the tokens are the whole
    // conversation, for an empty context.
    bool starts_over = false;
  };
  Result<Turn> user_says(const std::string& message);

  // The reply ended: its text, whose tokens the context holds.
  Result<void> assistant_said(const std::string& text);

  void clear();  // Forgets everything but the system message.

 private:
  using Ids = std::vector<std::uint32_t>;
  Result<Ids> closing() const;
  Result<Ids> encode(const nlohmann::ordered_json& messages, bool add_generation_prompt) const;

  const inference::TextCodec& codec_;
  const std::string system_;
  nlohmann::ordered_json messages_;
  Ids history_;             // What the template makes of messages_, the last reply closed.
  std::optional<Ids> gap_;  // What the context lacks of history_; nothing: it cannot be continued.
};

}  // namespace quire
