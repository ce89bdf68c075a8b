#pragma once
// The context that an earlier turn of a conversation saved, with which its next turn may begin.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "chat_prompt.h"
#include "members.h"

namespace endpoints {

struct OpenedContext {
  Context context;
  std::uint32_t found_count = 0;  // Tokens that it has ever found.
};

// Opens the saved context, as far as `tokens` begin like it. The last of them is computed in any
// case, because the answer follows it. Nothing if the prompt has none that can be used.
inline Task<std::optional<OpenedContext>> open_saved(const ChatPrompt& prompt,
                                                     std::span<const std::uint32_t> tokens) {
  if (!prompt.saved || prompt.saved->model != co_await prompt.model.name()) co_return std::nullopt;
  const auto differs = std::ranges::mismatch(tokens, prompt.saved->tokens).in1;
  const auto common = std::min(differs - tokens.begin(), std::ssize(tokens) - 1);
  if (common == 0) co_return std::nullopt;
  Result<Context> opened = co_await attempt(Context::open(prompt.model, prompt.saved->name));
  if (!opened.ok()) {  // Its time is over, or the request names another model.
    runtime::log(LogLevel::Warning, "the context " + prompt.saved->name +
                                        " is computed again: " + opened.error().message);
    co_return std::nullopt;
  }
  Context context = std::move(opened).take();
  const auto counters = co_await context.rewind(static_cast<std::uint32_t>(common));
  co_return OpenedContext{std::move(context), counters.found_token_count};
}

// How many tokens of `context`, which begins with `prompt`, `tokens` begin with.
inline std::uint32_t common_count(const Context& context, std::span<const std::uint32_t> prompt,
                                  std::span<const std::uint32_t> tokens) {
  const auto of_prompt = std::ranges::mismatch(prompt, tokens).in1 - prompt.begin();
  if (of_prompt < std::ssize(prompt)) return static_cast<std::uint32_t>(of_prompt);
  // The program never saw the tokens of an opened context, which are of the prompt.
  const auto known_first = context.unknown_token_count();
  const auto known = std::ranges::mismatch(context.tokens(), tokens.subspan(known_first)).in1;
  return known_first + static_cast<std::uint32_t>(known - context.tokens().begin());
}

// Saves `context`, which begins with `prompt`, with the tokens of `as`.
inline Task<> save_as(Context& context, std::span<const std::uint32_t> prompt, SavedContext as,
                      SaveOptions options) {
  context.unconstrain();
  const std::uint32_t common = common_count(context, prompt, as.tokens);
  if (common < context.token_count()) co_await context.rewind(common);
  co_await context.append(std::span(as.tokens).subspan(common));
  co_await context.flush();
  co_await context.save(as.name, options);
}

}  // namespace endpoints
