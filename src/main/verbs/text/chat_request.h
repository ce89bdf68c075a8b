#pragma once
// The request of a chat template out of JSON that a user wrote: messages, or an object with
// "messages" and variables of the template.
//
// Thread   any; no state.
// Errors   InvalidArgument saying what is expected.
//
// The user's own text goes to the template as it is: key order, 1.0 and 18446744073709551616
// survive.
#include <string>
#include <string_view>

#include "base/result.h"

namespace quire {

struct ChatRequestExtras {
  std::string system;                 // Empty: no system message is put before the others.
  bool add_generation_prompt = true;  // Unless the text says otherwise.
};

Result<std::string> chat_request(std::string_view text, const ChatRequestExtras& extras);

}  // namespace quire
