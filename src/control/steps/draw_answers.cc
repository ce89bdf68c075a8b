#include "control/steps/draw_answers.h"

namespace quire::control {

using inference::DrawMasks;

namespace {

Drawn drawn_of(const inference::Distribution& from, bool is_forced) {
  return {.token = static_cast<std::uint32_t>(from.tokens.front()),
          .probability = from.probabilities.front(),
          .is_forced = is_forced};
}

}  // namespace

void add_draw(Draws& draws, const inference::Distribution& from, bool is_forced) {
  draws.all.push_back(drawn_of(from, is_forced));
  draws.random_count += is_forced ? 0 : 1;
  for (std::size_t index = 1; index < from.tokens.size(); ++index) {
    draws.top_tokens.push_back(static_cast<std::uint32_t>(from.tokens[index]));
    draws.top_probabilities.push_back(from.probabilities[index]);
  }
}

DrawEnd end_of(DrawMasks::End end) {
  switch (end) {
    case DrawMasks::End::Open:
      break;
    case DrawMasks::End::Complete:
      return DrawEnd::GrammarComplete;
    case DrawMasks::End::NoneAllowed:
      return DrawEnd::NoTokenAllowed;
  }
  return DrawEnd::None;
}

}  // namespace quire::control
