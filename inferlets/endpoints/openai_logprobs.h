#pragma once
// Tokens with their probabilities, as the endpoints of the OpenAI interface write them.
#include <string>
#include <utility>
#include <vector>

#include "openai.h"

namespace endpoints::openai {

// The object is still open, for further members.
inline Task<JsonWriter> begun_token(Model model, std::uint32_t token, double log_probability) {
  const std::vector<std::uint32_t> one(1, token);
  const std::string bytes = co_await model.detokenize(one, true);
  JsonWriter json;
  json.begin_object().key("token").text(bytes);
  json.key("logprob").number(shown_log_probability(log_probability)).key("bytes").begin_array();
  for (const char each : bytes) json.number(unsigned{static_cast<unsigned char>(each)});
  json.end_array();
  co_return json;
}

inline Task<std::string> logprobs_of(Model model, Piece piece) {
  JsonWriter json = co_await begun_token(model, piece.token, piece.log_probability());
  json.key("top_logprobs").begin_array();
  for (const TokenProbability& each : piece.top) {
    JsonWriter other = co_await begun_token(model, each.token, each.log_probability());
    json.raw(other.end_object().str());
  }
  co_return json.end_array().end_object().str();
}

}  // namespace endpoints::openai
