#pragma once
// Drafts of the answers of an endpoint, from the prompt and from what a client predicts. They
// change the time of an answer, and never its text.
#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "members.h"
#include "quire/quire.h"

namespace endpoints {

// The options of each program that writes text.
struct DraftOptions {
  bool are_left_out = false;

  void read(OptionReader& in) {
    in.flag("no-drafts", are_left_out, "Guess no tokens of an answer from its prompt");
  }
  // Lets `drafts` guess the answer, unless drafts are left out.
  void add_to(GenerateOptions& options, PromptDrafts drafts = {}) const {
    if (!are_left_out) options.draft = std::move(drafts);
  }
};

// The text that a client expects: {"type": "content", "content": text or parts of text}. Drafts
// look at its last 131,072 tokens. The tokenizer takes a tenth of a second for the limit.
struct Prediction {
  static constexpr std::size_t kBytesMax = std::size_t{1} << 20;

  bool is_given = false;
  std::string text = {};
};

namespace detail {

inline Result<std::string> predicted_text(const Json& content) {
  const char* const form = "must be a string or an array of parts {\"type\": \"text\", \"text\"}";
  if (content.is_text()) return std::string(content.text());
  if (!content.is_array()) return wrong("prediction.content", form);
  std::string text;
  std::size_t index = 0;
  for (const Json& part : content.items()) {
    const std::string at = "prediction.content[" + std::to_string(index++) + "]";
    const std::string_view type = part.text("type");
    if (!part.is_object() || type.empty()) return wrong(at, "must be an object with a type");
    if (type != "text") {
      return wrong(at,
                   "parts of type " + json_string(type) +
                       " are not supported; a prediction has parts of type text",
                   ErrorCode::NotSupported);
    }
    if (!part["text"].is_text()) return wrong(at + ".text", "must be a string");
    text += part.text("text");
  }
  return text;
}

}  // namespace detail

inline Result<Prediction> read_prediction(Members& in) {
  if (in.find("prediction") == nullptr) return Prediction();
  Members given = TRY(in.object("prediction"));
  const std::string type = TRY(given.text("type"));
  if (type != "content") {
    return given.bad("type", json_string(type) +
                                 " is not supported; a prediction has the type "
                                 "\"content\"");
  }
  const Json* content = given.find("content");
  if (content == nullptr) return given.bad("content", "give the text that the answer may have");
  Prediction out{.is_given = true, .text = TRY(detail::predicted_text(*content))};
  TRY(given.finish());
  if (out.text.size() <= Prediction::kBytesMax) return out;
  return wrong("prediction",
               "has " + std::to_string(out.text.size()) + " bytes of text; at most " +
                   std::to_string(Prediction::kBytesMax) +
                   " are read: give the part of it that the answer begins with",
               ErrorCode::TooLarge);
}

// How much of a prediction answers have, as OpenAI counts it.
struct PredictionCounts {
  std::size_t accepted = 0;  // Tokens of the prediction that the answers have,
  std::size_t rejected = 0;  // and its other ones.

  PredictionCounts& operator+=(const PredictionCounts& more) {
    accepted += more.accepted;
    rejected += more.rejected;
    return *this;
  }
};

// The tokens of a prediction. Special tokens in its text are text.
class PredictedTokens {
 public:
  static Task<PredictedTokens> of(Model model, Prediction prediction) {
    PredictedTokens out;
    if (prediction.text.empty()) co_return out;
    out.all_ = co_await model.tokenize(std::move(prediction.text), {.parse_special = false});
    co_return out;
  }

  PromptDrafts drafts() const { return PromptDrafts().predict(all_); }

  // A function of the answer alone: it does not depend on how the answer was computed.
  PredictionCounts counts_of(std::span<const std::uint32_t> answer) const {
    TokenIndex index;
    for (const std::uint32_t each : all_) index.append(each);
    std::vector<bool> is_in_answer(all_.size());
    std::size_t place = 0;  // In the prediction: where the answer goes on.
    for (std::size_t i = 0; i < answer.size(); ++i) {
      std::size_t length = 1;
      if (place >= all_.size() || all_[place] != answer[i]) {
        const TokenIndex::Match match = index.find(answer.first(i + 1));
        if (match.length == 0) continue;
        length = match.length;
        place = static_cast<std::size_t>(match.end) - 1;
      }
      ++place;
      std::fill_n(is_in_answer.begin() + static_cast<std::ptrdiff_t>(place - length), length, true);
    }
    const auto accepted =
        static_cast<std::size_t>(std::count(is_in_answer.begin(), is_in_answer.end(), true));
    return {.accepted = accepted, .rejected = all_.size() - accepted};
  }

 private:
  std::vector<std::uint32_t> all_;
};

}  // namespace endpoints
