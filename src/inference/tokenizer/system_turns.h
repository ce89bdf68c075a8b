#pragma once
// SystemTurns: the system turns of a request, for a chat template that has no place for them.
//
// Some templates refuse the role "system" (Gemma's: "System role not supported"), and some leave
// out its turns silently. The text of such a turn then goes in front of the next turn, if that is
// the user's. Otherwise it goes to the end of the user's turn before it, or becomes a turn of the
// user.
//
// Owns     which templates of one model those are. The first request with a system turn asks them.
// Thread   any.
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "inference/tokenizer/chat_template.h"

namespace quire::inference {

class SystemTurns {
 public:
  // The request with its system turns in those of the user. Empty: it goes to the template as it
  // is, because it has no such turn, or the template takes it.
  std::string moved(std::string_view request, const ChatTemplate& compiled,
                    const std::vector<ChatTemplateSource>& sources,
                    std::int64_t now_unix_seconds) const;

 private:
  mutable std::once_flag asked_;
  mutable std::vector<std::string> names_;  // Of the templates without a place for system turns.
};

}  // namespace quire::inference
