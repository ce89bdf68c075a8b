#pragma once
// PromptDrafts proposes text that stood in the context before: "prompt lookup".
//
//   options.draft = drafts_from(context);
//   const Generation answer = co_await context.generate(std::move(options));
//
//   options.draft = drafts_from(context).predict(tokens);  // And text that the answer may be like.
//
// A model that repeats parts of its prompt, as in an edit of a file, then needs a fraction of the
// passes. What is drawn does not change. The last tokens of the context are looked up in it, and
// the tokens that followed the longest match are proposed. The method is that of "Prompt Lookup
// Decoding" (Saxena, 2023); the ngram proposer of vLLM and `--spec-type ngram-simple` of llama.cpp
// are of its kind.
//
// A draft that is not drawn costs time, so DraftGate limits them. It proposes few tokens first,
// twice as many after each guess that was right, and pauses after two that were wrong. On text that
// repeats nothing it soon proposes next to nothing.
//
// Each context needs one of its own; a copy goes on by itself. TokenIndex states what it costs.
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "quire/context.h"
#include "quire/draft_source.h"
#include "quire/token_index.h"

namespace quire {

// How many tokens are worth proposing, by what became of earlier guesses.
class DraftGate {
 public:
  static constexpr std::uint32_t kMatchMin = 4;          // Tokens of a match,
  static constexpr std::uint32_t kMatchMinAfterHit = 3;  // after a guess that was right,
  static constexpr std::uint32_t kMatchMinInPause = 8;   // and one that ends a pause.
  static constexpr std::uint32_t kCountMin = 4;          // Drafts.
  static constexpr std::uint32_t kCountMax = 32;
  static constexpr std::uint32_t kMissCountMax = 2;
  static constexpr std::uint32_t kPauseMin = 16;  // Tokens; twice as many each time.
  static constexpr std::uint32_t kPauseMax = 256;

  // The number of tokens to propose next, where a match of so many tokens was found.
  std::uint32_t count_for(std::uint32_t match_length) {
    const bool pauses = pause_left_ > 0;
    if (pauses) --pause_left_;
    const std::uint32_t after = is_hot_ ? kMatchMinAfterHit : kMatchMin;
    return match_length < (pauses ? kMatchMinInPause : after) ? 0 : count_;
  }
  // Takes what became of the guess. Nothing is learned from drafts that were not computed.
  void note(DraftCounts counts) {
    if (counts.computed == 0) return;
    const bool is_whole = counts.accepted == counts.computed;
    const bool is_miss = counts.accepted * 4 < counts.computed;  // It cost more than it saved.
    is_hot_ = counts.accepted * 2 >= counts.computed;
    if (is_hot_) pause_ = kPauseMin;
    if (is_hot_) pause_left_ = 0;
    count_ = is_whole ? std::max(count_, std::min(counts.computed * 2, kCountMax))
                      : std::clamp(counts.accepted, kCountMin, kCountMax);
    miss_count_ = is_miss ? miss_count_ + 1 : 0;
    if (miss_count_ < kMissCountMax) return;
    miss_count_ = 0;
    pause_left_ = pause_;
    pause_ = std::min(pause_ * 2, kPauseMax);
  }

 private:
  std::uint32_t count_ = kCountMin;
  std::uint32_t miss_count_ = 0;  // One after the other.
  std::uint32_t pause_ = kPauseMin;
  std::uint32_t pause_left_ = 0;
  bool is_hot_ = false;  // The last guess was right, at least half of it.
};

class PromptDrafts {
 public:
  PromptDrafts() = default;  // Of the context that it is first asked about.
  explicit PromptDrafts(const Context& context) { follow(context); }

  // Adds tokens that the program expects: the answer may repeat them as it may the context's.
  PromptDrafts& predict(const std::vector<std::uint32_t>& tokens) & {
    for (const std::uint32_t each : tokens) prediction_.append(each);
    return *this;
  }
  PromptDrafts predict(const std::vector<std::uint32_t>& tokens) && {
    predict(tokens);
    return std::move(*this);
  }

  Task<std::vector<std::uint32_t>> operator()(const Context& context) {
    const bool is_first = !std::exchange(has_begun_, true);
    follow(context);
    co_return guess(context, is_first);
  }
  void note_drafts(DraftCounts counts) { gate_.note(counts); }

 private:
  static constexpr std::size_t kSeenCount = 16;  // Tokens that show whether the text is the same.

  // Takes the tokens that came since. A text that was changed before its end is taken anew.
  void follow(const Context& context) {
    const std::vector<std::uint32_t>& tokens = context.tokens();
    const std::uint64_t known = text_.token_count();
    bool goes_on = known <= tokens.size();
    for (std::size_t i = 1; goes_on && i <= std::min<std::uint64_t>(kSeenCount, known); ++i) {
      goes_on = tokens[known - i] == text_.token(known - i);
    }
    if (!goes_on) text_ = TokenIndex();
    for (std::size_t i = text_.token_count(); i < tokens.size(); ++i) text_.append(tokens[i]);
  }

  std::vector<std::uint32_t> guess(const Context& context, bool is_first) {
    if (is_first) {  // This pass computes the prompt, after which a new text begins.
      return prediction_.after({.end = 0, .length = 1}, DraftGate::kCountMin);
    }
    const std::vector<std::uint32_t>& tokens = context.tokens();
    const std::size_t count = std::min<std::size_t>(tokens.size(), TokenIndex::kMatchCountMax);
    const TokenIndex::Match predicted = prediction_.find(std::span(tokens).last(count));
    const TokenIndex::Match repeated = text_.repeated();
    const bool is_predicted = predicted.length > 0 && predicted.length >= repeated.length;
    const TokenIndex::Match& match = is_predicted ? predicted : repeated;
    const std::uint32_t draft_count = gate_.count_for(match.length);
    if (draft_count == 0) return {};
    return is_predicted ? prediction_.after(match, draft_count)
                        : text_.after(match, draft_count, true);
  }

  TokenIndex text_;  // Of the context.
  TokenIndex prediction_;
  DraftGate gate_;
  bool has_begun_ = false;
};

// Drafts from the text of `context`, whose generation gets them.
inline PromptDrafts drafts_from(const Context& context) {
  return PromptDrafts(context);
}

}  // namespace quire
