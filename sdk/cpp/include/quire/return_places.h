#pragma once
// The places that the later turns of a conversation come back to. Templates write earlier answers
// without their thoughts. So the prompt of a later turn has the tokens of this one only up to the
// answer, or up to the end of the user's last message if calls of tools came after it. A model with
// the trait "states" keeps its state there if the program marks these places (Context::mark). For
// another model nothing is done.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "quire/chat_message.h"
#include "quire/future.h"
#include "quire/model.h"
#include "quire/task.h"

namespace quire::detail {

// A conversation is written with these.
struct ConversationForm {
  Model model;
  std::string tools = {};      // As of Model::tokenize_chat.
  std::string variables = {};  // Likewise.
};

// The tokens of the conversation up to each of the places. The `messages` end where the answer
// begins. A template that refuses a part of a conversation leaves that part's place out.
inline Task<std::vector<std::vector<std::uint32_t>>> texts_to_return_to(
    ConversationForm form, std::vector<ChatMessage> messages) {
  std::vector<std::vector<std::uint32_t>> texts;
  if (!form.model.trait_version("states").ok()) co_return texts;
  const auto is_of_user = [](const ChatMessage& each) { return each.role == "user"; };
  const auto last = std::find_if(messages.rbegin(), messages.rend(), is_of_user);
  for (const bool is_whole : {false, true}) {
    if (!is_whole && (last == messages.rbegin() || last == messages.rend())) continue;
    const std::vector<ChatMessage> part(messages.begin(), is_whole ? messages.end() : last.base());
    Result<std::vector<std::uint32_t>> text =
        co_await attempt(form.model.tokenize_chat(part, false, form.tools, form.variables));
    if (text.ok()) texts.push_back(std::move(text).take());
  }
  co_return texts;
}

// How many tokens `whole` begins with of each text.
inline std::vector<std::size_t> places_in(std::span<const std::uint32_t> whole,
                                          std::span<const std::vector<std::uint32_t>> texts) {
  std::vector<std::size_t> places;
  for (const std::vector<std::uint32_t>& text : texts) {
    const auto differs = std::ranges::mismatch(whole, text).in1;
    places.push_back(static_cast<std::size_t>(differs - whole.begin()));
  }
  std::ranges::sort(places);
  return places;
}

// Queues the tokens of `whole` from `from` on in `context`, with a mark at each place among them.
template <typename Context>
Result<void> append_marked(Context& context, std::span<const std::uint32_t> whole, std::size_t from,
                           std::span<const std::size_t> places) {
  for (const std::size_t place : places) {
    if (place < from || place > whole.size()) continue;
    TRY(context.append(whole.subspan(from, place - from)));
    TRY(checked_empty(abi::context::mark(context.handle())));
    from = place;
  }
  return context.append(whole.subspan(from));
}

// The same with `whole`, the tokens of all `messages`.
template <typename Context>
Task<> append_conversation(Context& context, std::string tools, std::vector<ChatMessage> messages,
                           std::vector<std::uint32_t> whole, std::size_t from) {
  ConversationForm form{context.model(), std::move(tools)};
  const std::vector<std::vector<std::uint32_t>> texts =
      co_await texts_to_return_to(std::move(form), std::move(messages));
  const std::vector<std::size_t> places = places_in(whole, texts);
  co_await append_marked(context, whole, from, places);
}

}  // namespace quire::detail
