#pragma once
// How much of a prompt is computed, for clients that ask for it ("return_progress", as llama-server
// has it). One pass does not report where it is, so such a prompt is computed in slices. The result
// has the same bits.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "members.h"

namespace endpoints {

struct PromptProgress {
  std::size_t total_count = 0;      // Tokens of the prompt;
  std::size_t cached_count = 0;     // those that were found, not computed;
  std::size_t processed_count = 0;  // those that are found or computed.
  std::chrono::nanoseconds time{0};

  void write(JsonWriter& json) const {
    json.begin_object().key("total").number(total_count).key("cache").number(cached_count);
    json.key("processed").number(processed_count).key("time_ms");
    json.number(std::chrono::duration_cast<std::chrono::milliseconds>(time).count());
    json.end_object();
  }
};

// Appends the rest of `tokens` to `context`, which holds the first `held_count` of them, with marks
// at `places`, and computes it. Awaits report(progress) after each slice in which a token was
// computed, and at the end.
template <typename Report>
Task<> compute_in_slices(Context& context, std::vector<std::uint32_t> tokens,
                         std::vector<std::size_t> places, std::size_t held_count, Report report) {
  constexpr std::size_t kSliceTokens = 256;
  const std::size_t page_size = context.page_size();
  const std::size_t slice = std::max<std::size_t>(kSliceTokens / page_size, 1) * page_size;
  const std::chrono::nanoseconds began = runtime::now();
  const std::size_t found_before = context.found_token_count();
  PromptProgress progress{.total_count = tokens.size()};
  for (std::size_t at = held_count; at < tokens.size();) {
    const std::size_t count = std::min(slice - at % slice, tokens.size() - at);
    co_await quire::detail::append_marked(context, std::span(tokens).first(at + count), at, places);
    co_await context.flush();
    at += count;
    const std::size_t found = held_count + context.found_token_count() - found_before;
    progress.cached_count = std::min(found, tokens.size());
    progress.processed_count = at;
    progress.time = runtime::now() - began;
    if (at > progress.cached_count || at == tokens.size()) co_await report(progress);
  }
}

}  // namespace endpoints
