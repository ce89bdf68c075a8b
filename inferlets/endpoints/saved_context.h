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

}  // namespace endpoints
