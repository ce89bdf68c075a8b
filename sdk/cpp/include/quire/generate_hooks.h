#pragma once
// The hooks of GenerateOptions that take part in each draw, and the healing of a prompt: the parts
// of generate.h that few programs use. Include generate.h, which includes this file.
#include "quire/generate.h"

namespace quire {

// One of logits that the program changed.
template <>
inline Task<DrawnToken> detail::DrawHook<std::span<float>>::draw_shaped(
    Generator& generator, const Hook<std::span<float>>& hook) {
  if (!generator.has_step()) co_await generator.begin_step();
  Numbers said = co_await *std::exchange(generator.logits_, std::nullopt);
  std::vector<float> changed = said.values;
  co_await hook(std::span<float>(changed));
  const Context& context = generator.context();
  Result<DrawnToken> drawn = co_await attempt(
      generator.drawer_.draw(std::move(changed), context.tokens(), context.unknown_token_count()));
  generator.is_stuck_ = !drawn.ok() && drawn.error().code == ErrorCode::OutOfRange;
  const std::uint32_t token = (co_await std::move(drawn)).token;
  co_await generator.take(token);
  co_return drawn_from(std::move(said.values), token, generator.options_.top_logprobs);
}

// One of a distribution that the program reshaped; of the tokens that may come, where not all may.
template <>
inline Task<DrawnToken> detail::DrawHook<Distribution&>::draw_shaped(
    Generator& generator, const Hook<Distribution&>& hook) {
  const std::vector<std::uint32_t> mask = co_await generator.drawer_.allowed();
  if (!mask.empty() && std::ranges::all_of(mask, [](std::uint32_t word) { return word == 0; })) {
    co_await generator.note_end(DrawEnd::NoTokenAllowed);
  }
  if (!mask.empty()) {
    generator.begin_reshaping(Sampler::kWholeVocabulary);
  } else if (!generator.has_step()) {
    co_await generator.begin_step();
  }
  const Distribution given = co_await *std::exchange(generator.reshaping_, std::nullopt);
  Distribution reshaped = given;
  if (!mask.empty()) {
    reshaped.keep_if(
        [&](std::uint32_t token, float) { return (mask[token / 32] >> (token % 32) & 1) != 0; });
  }
  co_await hook(reshaped);
  reshaped.keep_if([](std::uint32_t, float probability) { return probability > 0.0f; });
  if (reshaped.size() == 0 || reshaped.tokens.size() != reshaped.probabilities.size()) {
    co_await fail(ErrorCode::InvalidArgument, "reshape left no token with a probability above 0");
  }
  std::vector<std::uint32_t> order;
  sampling::rank(reshaped.probabilities, reshaped.size(), order);
  std::vector<float> falling;
  for (const std::uint32_t each : order) falling.push_back(reshaped.probabilities[each]);
  Drawer& drawer = generator.drawer_;
  DrawScratch scratch;
  const std::size_t index =
      sampling::draw_index(falling, drawer.rule(), drawer.randoms(1).front(), scratch);
  DrawnToken drawn;
  drawn.token = reshaped.tokens[order[index]];
  drawn.probability = given.probability_of(drawn.token);
  drawer.note(drawn);
  co_await generator.take(drawn.token);
  co_return drawn;
}

// The method is that of "The Art of Prompt Design: Prompt Boundaries and Token Healing" (Lundberg,
// 2023), for one token.
inline Task<std::string> detail::Healing::begin_healing(Context& context, Drawer& drawer) {
  const std::uint32_t count = context.token_count();
  if (context.tokens().empty() || count < 2) co_return "";
  const Model model = context.model();
  const std::uint32_t last = context.tokens().back();
  const std::vector<std::uint8_t> kinds =
      co_await model.token_kinds(0, model.info().vocabulary_size);
  const std::vector<std::string> texts = co_await model.vocabulary();
  const auto may_come = [&](std::uint32_t token) {
    constexpr std::uint8_t kByte = 1;  // The kinds above it are not text.
    return kinds[token] <= kByte && texts[token].starts_with(texts[last]);
  };
  if (last >= kinds.size() || texts[last].empty() || !may_come(last)) co_return "";
  std::vector<std::uint32_t> mask((texts.size() + 31) / 32);
  std::uint32_t allowed_count = 0;
  for (std::uint32_t token = 0; token < kinds.size(); ++token) {
    if (!may_come(token)) continue;
    mask[token / 32] |= std::uint32_t{1} << (token % 32);
    ++allowed_count;
  }
  if (allowed_count < 2) co_return "";
  co_await context.rewind(count - 1);
  drawer.allow(std::move(mask));
  co_return texts[last];
}

}  // namespace quire
