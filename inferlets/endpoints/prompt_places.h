#pragma once
// The places in the prompt of a conversation that its next turns come back to.
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "drawn_calls.h"
#include "quire/return_places.h"

namespace endpoints {

// Numbers of tokens of `whole`, which the template wrote for `prompt`. `call_ids` are those of the
// turns whose drawn tokens it has.
inline Task<std::vector<std::size_t>> places_to_mark(ChatPrompt prompt, CallForm calls,
                                                     std::vector<std::string> call_ids,
                                                     std::vector<std::uint32_t> whole) {
  const bool has_tools = prompt.tool_choice != ToolChoice::None && calls.offers_tools;
  const quire::detail::ConversationForm form{prompt.model, has_tools ? prompt.tool_list : "",
                                             prompt.template_variables};
  const std::vector<std::uint32_t> stop_tokens = prompt.model.info().stop_tokens;
  std::vector<std::vector<std::uint32_t>> texts =
      co_await quire::detail::texts_to_return_to(form, std::move(prompt.messages));
  for (std::vector<std::uint32_t>& text : texts) {
    text = co_await DrawnCalls::put_back(std::move(text), call_ids, stop_tokens);
  }
  co_return quire::detail::places_in(whole, texts);
}

}  // namespace endpoints
