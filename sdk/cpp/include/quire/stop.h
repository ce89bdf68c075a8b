#pragma once
// StopRules decides when a generation ends and which of its text may be shown already.
//
// For each sampled token call accept_token, then accept_bytes with the token's bytes; show what the
// latter returns; once ended() show finish() and stop. Never shown: half a character, or text that
// may still turn out to be the start of a stop text. A stop text is found wherever token boundaries
// fall, and is not shown itself. The program that hosts guests uses this header too, so that both
// end at the same token. It knows nothing of guests and includes only the standard library.
//
// Thread   one thread at a time.
// Errors   none. Empty stop texts are ignored.
//
// Invariants:
//   ST1  Everything that accept_bytes and finish returned, joined, is valid UTF-8 that contains no
//        stop text.
//   ST2  The text held back is shorter than the longest stop text and one character.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quire/utf8.h"

namespace quire {

enum class FinishReason : std::uint8_t {
  Running,    // Not ended.
  StopToken,  // A token that ends a text or a turn was sampled.
  StopText,   // One of the stop texts appeared.
  Length,     // As many tokens as asked for, or as the context holds.
  Grammar,    // The text is complete under its grammar: nothing may follow.
  Stopped,    // The program ended it.
};

// "stop" or "length", as the OpenAI interface spells them; "" while running.
constexpr const char* finish_reason_name(FinishReason reason) {
  switch (reason) {
    case FinishReason::Running:
      return "";
    case FinishReason::StopToken:
    case FinishReason::StopText:
    case FinishReason::Grammar:
    case FinishReason::Stopped:
      return "stop";
    case FinishReason::Length:
      return "length";
  }
  return "";
}

struct StopOptions {
  std::uint32_t token_count_max = 128;          // The stop token is not counted.
  std::vector<std::uint32_t> stop_tokens = {};  // Leave empty to run past the end of a text.
  std::vector<std::string> stop_texts = {};
};

class StopRules {
 public:
  explicit StopRules(StopOptions options) : options_(std::move(options)) {
    std::erase_if(options_.stop_texts, [](const std::string& text) { return text.empty(); });
    if (options_.token_count_max == 0) reason_ = FinishReason::Length;
  }

  // True if `token` is part of the answer. False if it ended it: it has no text, and is not one of
  // the answer's ids, but belongs into the context where the conversation goes on.
  bool accept_token(std::uint32_t token) {
    if (ended()) return false;
    const auto& stops = options_.stop_tokens;
    if (std::find(stops.begin(), stops.end(), token) != stops.end()) {
      reason_ = FinishReason::StopToken;
      return false;
    }
    token_count_ += 1;
    return true;
  }

  // The text that may be shown now that the accepted token's bytes are known. Call it once for each
  // accepted token, with no bytes where the token has none: it is here that the length is checked.
  std::string accept_bytes(std::string_view bytes) {
    if (ended()) return {};
    pending_ += utf8_.push(bytes);
    std::string shown = release();
    if (!ended() && token_count_ >= options_.token_count_max) reason_ = FinishReason::Length;
    return shown;
  }

  // No further token can be computed: the context is full.
  void end_at_length() {
    if (!ended()) reason_ = FinishReason::Length;
  }

  // Nothing may follow under the grammar.
  void end_of_grammar() {
    if (!ended()) reason_ = FinishReason::Grammar;
  }
  void stop() {
    if (!ended()) reason_ = FinishReason::Stopped;
  }

  // The generation is over, by the rules or because the caller wants it so: the text held back.
  std::string finish() {
    if (reason_ == FinishReason::StopText) return {};
    pending_ += utf8_.finish();
    std::string shown = release();
    if (reason_ != FinishReason::StopText) shown += std::exchange(pending_, {});
    return shown;
  }

  bool ended() const { return reason_ != FinishReason::Running; }
  FinishReason reason() const { return reason_; }
  std::uint32_t token_count() const { return token_count_; }
  // A token more may end the generation by its text; where it cannot, the next step may begin
  // before the text is known.
  bool watches_text() const { return !options_.stop_texts.empty(); }
  // As many tokens as asked for are accepted: no further step is needed.
  bool full() const { return token_count_ >= options_.token_count_max; }

 private:
  std::string release() {
    std::size_t found = std::string::npos;
    std::size_t held = 0;
    for (const std::string& stop : options_.stop_texts) {
      found = std::min(found, pending_.find(stop));
      held = std::max(held, prefix_at_end(stop));
    }
    if (found != std::string::npos) {
      reason_ = FinishReason::StopText;
      std::string shown = pending_.substr(0, found);
      pending_.clear();
      return shown;
    }
    std::string shown = pending_.substr(0, pending_.size() - held);
    pending_.erase(0, shown.size());
    return shown;
  }

  // The bytes at the end of the pending text that begin `stop` without being all of it.
  std::size_t prefix_at_end(std::string_view stop) const {
    const std::string_view pending = pending_;
    for (std::size_t bytes = std::min(stop.size() - 1, pending.size()); bytes > 0; --bytes) {
      if (pending.substr(pending.size() - bytes) == stop.substr(0, bytes)) return bytes;
    }
    return 0;
  }

  StopOptions options_;
  Utf8Stream utf8_;
  std::string pending_;  // Valid UTF-8 that may begin a stop text.
  std::uint32_t token_count_ = 0;
  FinishReason reason_ = FinishReason::Running;
};

}  // namespace quire
