#pragma once
// Rules, logits and histories made from a seed, and one number for thousands of draws by them, so
// that a native build and a Wasm build can be compared.
#include <bit>
#include <cstdint>
#include <vector>

#include "quire/draw_arithmetic.h"

namespace quire::test {

inline std::vector<float> random_logits(sampling::Random& random, std::uint32_t count) {
  std::vector<float> logits(count);
  for (float& each : logits) {
    const double spread = random.uniform() + random.uniform() + random.uniform() - 1.5;
    each = static_cast<float>(spread * 8.0);
  }
  return logits;
}

// Few different tokens, so that runs repeat.
inline std::vector<std::uint32_t> random_history(sampling::Random& random, std::uint32_t count,
                                                 std::uint32_t kinds) {
  std::vector<std::uint32_t> history(count);
  for (std::uint32_t& each : history) each = static_cast<std::uint32_t>(random.next() % kinds);
  return history;
}

inline std::vector<std::uint32_t> random_mask(sampling::Random& random, std::uint32_t count) {
  std::vector<std::uint32_t> mask((count + 31) / 32);
  for (std::uint32_t& word : mask) word = static_cast<std::uint32_t>(random.next());
  return mask;
}

// Each part of the rule with the chance `share`, so that some rules have one part and some many.
inline DrawRule random_rule(sampling::Random& random, double share, std::uint32_t token_count) {
  const auto is_on = [&] { return random.uniform() < share; };
  const auto any = [&](std::uint64_t end) {
    return static_cast<std::uint32_t>(random.next() % end);
  };
  DrawRule rule{.temperature = 0.2 + 1.5 * random.uniform()};
  if (is_on()) rule.top_k = 1 + any(40);
  if (is_on()) rule.top_p = random.uniform();
  if (is_on()) rule.min_p = 0.3 * random.uniform();
  if (is_on()) rule.typical_p = random.uniform();
  if (is_on()) rule.top_n_sigma = 3.0 * random.uniform();
  if (is_on()) {
    rule.xtc_probability = random.uniform();
    rule.xtc_threshold = 0.3 * random.uniform();
  }
  if (is_on()) {
    rule.dry_multiplier = 2.0 * random.uniform();
    rule.dry_base = 1.0 + random.uniform();
    rule.dry_allowed_length = any(4);
    if (is_on()) rule.dry_window = any(50);
    if (is_on()) rule.dry_breakers = {any(5), any(5)};
  }
  if (is_on()) rule.repetition_penalty = 0.5 + random.uniform();
  if (is_on()) rule.presence_penalty = 2.0 * random.uniform() - 0.5;
  if (is_on()) rule.frequency_penalty = random.uniform() - 0.2;
  if (is_on()) rule.penalty_window = any(50);
  if (is_on()) {
    for (std::uint32_t i = 0; i < 5; ++i) {
      rule.logit_bias.push_back({i * (token_count / 5), static_cast<float>(any(40)) - 20.0f});
    }
  }
  return rule;
}

// FNV-1a over the tokens that 600 rules draw and over the bits of the logits that they adjusted.
inline std::uint64_t digest_of_rules() {
  std::uint64_t digest = 0xcbf29ce484222325ull;
  const auto take_in = [&](std::uint64_t value) {
    for (int byte = 0; byte < 8; ++byte) {
      digest = (digest ^ ((value >> (8 * byte)) & 0xff)) * 0x100000001b3ull;
    }
  };
  sampling::Random random(17);
  DrawScratch scratch;
  for (int round = 0; round < 600; ++round) {
    const std::uint32_t count = round % 2 == 0 ? 700 : 33;
    DrawRule rule = random_rule(random, round % 3 == 0 ? 0.15 : 0.5, count);
    if (round % 10 == 0) rule.temperature = 0.0;
    std::vector<float> logits = random_logits(random, count);
    const auto history = random_history(random, 100, 6);
    const auto mask = random_mask(random, count);
    const bool is_masked = round % 4 == 0;
    const auto token =
        sampling::draw_token(logits, rule, history, is_masked ? mask : std::vector<std::uint32_t>{},
                             random.uniform(), scratch);
    take_in(token.value_or(0xffff'ffff));
    for (const float each : logits) take_in(std::bit_cast<std::uint32_t>(each));
  }
  return digest;
}

// The result of digest_of_rules on every machine. It may change only together with the meaning of
// a rule, which users keep in their scripts.
inline constexpr std::uint64_t kDigestOfRules = 904229239428993034ull;

}  // namespace quire::test
