#pragma once
// The line about billing with which claude-cli begins its system prompt:
//
//   x-anthropic-billing-header: cc_version=2.1.197.fa0; cc_entrypoint=cli; cch=71fea;
//
// It means nothing to a model and changes with each request. If it were computed, no page of the
// prompt after it would be found in the cache. So all interfaces leave it out.
#include <string>
#include <string_view>
#include <vector>

#include "quire/chat_message.h"

namespace endpoints {

// `text` without the lines about billing that it begins with.
inline std::string_view without_billing_line(std::string_view text) {
  constexpr std::string_view kBegin = "x-anthropic-billing-header:";
  constexpr std::string_view kBlanks = " \t\r\n";
  for (;;) {
    const std::size_t first = text.find_first_not_of(kBlanks);
    if (first == std::string_view::npos || !text.substr(first).starts_with(kBegin)) return text;
    const std::size_t end = text.find_first_not_of("\r\n", text.find('\n', first));
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end);
  }
}

// A system turn that has nothing else is left out.
inline void leave_out_billing_lines(std::vector<quire::ChatMessage>& messages) {
  std::erase_if(messages, [](quire::ChatMessage& each) {
    if (each.role != "system") return false;
    const std::size_t bytes = each.content.size();
    each.content.erase(0, bytes - without_billing_line(each.content).size());
    return each.content.empty() && bytes > 0;
  });
}

}  // namespace endpoints
