#include "inference/devices/shared/output_forms.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "quire/sampling.h"

namespace quire::inference {
namespace {

constexpr double kLn2 = 0.6931471805599453;

Error not_finite() {
  return Error(ErrorCode::Internal, "non-finite logits");
}

// Sums of at least 1 (the largest numerator is 1), so that a logarithm exists.
double natural_log(float sum) {
  return sampling::log2(static_cast<double>(sum)) * kLn2;
}

Error no_token(std::size_t vocabulary_size) {
  return Error(kNoTokenAllowed,
               "the mask allows no token: 0 of " + std::to_string(vocabulary_size));
}

// In place: numerators of the softmax, and their sum.
Result<float> numerators(std::span<float> logits, float inverse_temperature,
                         SoftmaxNumerators softmax) {
  const float sum =
      softmax(logits.data(), static_cast<std::uint32_t>(logits.size()), inverse_temperature);
  if (!std::isfinite(sum)) return not_finite();
  return sum;
}

std::span<const std::uint32_t> mask_of(const DistributionRequest& request) {
  return request.mask ? std::span<const std::uint32_t>(*request.mask)
                      : std::span<const std::uint32_t>{};
}

// The allowed tokens into scratch.draw.tokens and the numerators of their own softmax into
// scratch.draw.logits; the sum of these. The softmax is taken over the allowed logits alone,
// because in the full one the numerators of all of them can be 0.
Result<float> masked_numerators(std::span<const float> logits, std::span<const std::uint32_t> mask,
                                float inverse_temperature, SoftmaxNumerators softmax,
                                OutputScratch& scratch) {
  sampling::collect_allowed(logits, mask, scratch.draw.tokens, scratch.draw.logits);
  if (scratch.draw.tokens.empty()) return no_token(logits.size());
  return numerators(scratch.draw.logits, inverse_temperature, softmax);
}

// The k most probable of `tokens`, or of all tokens if that is empty, are added to the result.
void add_top(std::uint32_t k, std::span<const std::uint32_t> tokens,
             std::span<const float> numerators, float sum, OutputScratch& scratch,
             Distribution& result) {
  select_top(numerators, k, scratch.top_k, scratch.indices);
  result.tokens.reserve(result.tokens.size() + scratch.indices.size());
  result.probabilities.reserve(result.probabilities.size() + scratch.indices.size());
  for (const std::uint32_t index : scratch.indices) {
    result.tokens.push_back(TokenId{tokens.empty() ? index : tokens[index]});
    result.probabilities.push_back(numerators[index] / sum);
  }
}

Result<Distribution> top_k_form(const DistributionRequest& request, float inverse_temperature,
                                std::span<float> logits, SoftmaxNumerators softmax,
                                OutputScratch& scratch) {
  Distribution result;
  const std::span<const std::uint32_t> mask = mask_of(request);
  if (mask.empty()) {
    const float sum = TRY(numerators(logits, inverse_temperature, softmax));
    add_top(request.top_k, {}, logits, sum, scratch, result);
    return result;
  }
  // The logits that may not come are those of the same broken or whole model.
  const auto is_number = [](float x) { return x <= std::numeric_limits<float>::max(); };
  if (!std::all_of(logits.begin(), logits.end(), is_number)) return not_finite();
  const float sum = TRY(masked_numerators(logits, mask, inverse_temperature, softmax, scratch));
  add_top(request.top_k, scratch.draw.tokens, scratch.draw.logits, sum, scratch, result);
  return result;
}

// The drawn token of a rule that adjusts logits, as sampling::draw_token gives it. `logits` is
// overwritten.
Result<std::uint32_t> draw_adjusted(const DrawOptions& draw, std::span<const std::uint32_t> mask,
                                    double random, std::span<float> logits,
                                    OutputScratch& scratch) {
  scratch.history.clear();
  for (const TokenId token : draw.history) {
    scratch.history.push_back(static_cast<std::uint32_t>(token));
  }
  sampling::adjust_logits(logits, *draw.rule, scratch.history, scratch.draw, draw.history_first);
  sampling::collect_candidates(logits, *draw.rule, mask, scratch.draw);
  if (scratch.draw.tokens.empty()) return no_token(logits.size());
  if (!is_greedy(*draw.rule)) sampling::softmax_numerators(scratch.draw.logits);
  const std::size_t index =
      draw_unsorted(scratch.draw.logits, 1.0f, *draw.rule, random, scratch.fast_draw);
  return scratch.draw.tokens[index];
}

// The token under a mask, which is empty where every token may come.
Result<Distribution> drawn_under(const DistributionRequest& request,
                                 std::span<const std::uint32_t> mask, double random,
                                 std::span<float> logits, SoftmaxNumerators softmax,
                                 OutputScratch& scratch) {
  const DrawRule& rule = *request.draw.rule;
  const bool adjusts = adjusts_logits(rule);
  float allowed_sum = 0.0f;  // Of a mask without adjustments.
  if (adjusts) {
    scratch.logits.assign(logits.begin(), logits.end());
  } else if (!mask.empty()) {
    allowed_sum = TRY(masked_numerators(logits, mask, 1.0f, softmax, scratch));
  }
  const float sum = TRY(numerators(logits, 1.0f, softmax));
  std::uint32_t drawn = 0;
  if (adjusts) {
    drawn = TRY(draw_adjusted(request.draw, mask, random, scratch.logits, scratch));
  } else if (!mask.empty()) {
    const std::size_t index =
        draw_unsorted(scratch.draw.logits, allowed_sum, rule, random, scratch.fast_draw);
    drawn = scratch.draw.tokens[index];
  } else {
    drawn = static_cast<std::uint32_t>(draw_unsorted(logits, sum, rule, random, scratch.fast_draw));
  }
  Distribution result;
  result.tokens.push_back(TokenId{drawn});
  result.probabilities.push_back(logits[drawn] / sum);
  if (request.draw.top_count > 0) {
    add_top(request.draw.top_count, {}, logits, sum, scratch, result);
  }
  return result;
}

// Under masks that may not be there yet, or may end before this place.
Result<Distribution> draw_form(const DistributionRequest& request, std::span<float> logits,
                               SoftmaxNumerators softmax, OutputScratch& scratch) {
  const double random = request.draw.random;
  if (request.masks == nullptr) {
    return drawn_under(request, mask_of(request), random, logits, softmax, scratch);
  }
  Distribution nothing;
  nothing.is_deferred = !request.masks->is_ready();
  if (nothing.is_deferred) return nothing;
  const DrawMasks::Filled& filled = request.masks->filled();
  if (filled.error) return filled.error->copy();
  if (request.place >= filled.places.size()) return nothing;
  const DrawMasks::Place& place = filled.places[request.place];
  const std::vector<double>& randoms = request.masks->randoms();
  const bool has_own = randoms.empty() || place.is_forced;
  return drawn_under(request, place.words, has_own ? random : randoms[place.random_index], logits,
                     softmax, scratch);
}

// Takes the logits, not their numerators, because those of rare tokens are 0.
Result<Distribution> logprobs_form(const DistributionRequest& request, std::span<float> logits,
                                   SoftmaxNumerators softmax) {
  Distribution result;
  for (const TokenId token : request.tokens) {
    result.values.push_back(logits[static_cast<std::uint32_t>(token)]);
  }
  const float largest = *std::max_element(logits.begin(), logits.end());
  const float sum = softmax(logits.data(), static_cast<std::uint32_t>(logits.size()), 1.0f);
  if (!std::isfinite(sum)) return not_finite();
  const double log_sum = natural_log(sum);
  for (float& value : result.values) {
    value = static_cast<float>(static_cast<double>(value) - static_cast<double>(largest) - log_sum);
  }
  return result;
}

Result<Distribution> entropy_form(std::span<float> logits, SoftmaxNumerators softmax,
                                  OutputScratch& scratch) {
  scratch.logits.assign(logits.begin(), logits.end());
  const float largest = *std::max_element(logits.begin(), logits.end());
  const float sum = softmax(logits.data(), static_cast<std::uint32_t>(logits.size()), 1.0f);
  if (!std::isfinite(sum)) return not_finite();
  double weighted = 0.0;  // Of numerators times their logarithms.
  for (std::size_t i = 0; i < logits.size(); ++i) {
    weighted += static_cast<double>(logits[i]) * static_cast<double>(scratch.logits[i] - largest);
  }
  Distribution result;
  const double nats = natural_log(sum) - weighted / static_cast<double>(sum);
  result.values.push_back(static_cast<float>(std::max(nats, 0.0)));
  return result;
}

}  // namespace

Result<Distribution> output_form(const DistributionRequest& request, std::span<float> logits,
                                 SoftmaxNumerators softmax, OutputScratch& scratch) {
  switch (request.kind) {
    case DistributionKind::Logits: {
      if (!std::all_of(logits.begin(), logits.end(), [](float x) { return std::isfinite(x); })) {
        return not_finite();
      }
      Distribution result;
      result.values.assign(logits.begin(), logits.end());
      return result;
    }
    case DistributionKind::TopK: {
      const float inverse = 1.0f / request.temperature;
      if (!(inverse > 0.0f) || !std::isfinite(inverse)) {
        return Error(ErrorCode::InvalidArgument,
                     "temperature " + std::to_string(request.temperature) + " is not above zero");
      }
      return top_k_form(request, inverse, logits, softmax, scratch);
    }
    case DistributionKind::Logprobs:
      return logprobs_form(request, logits, softmax);
    case DistributionKind::Entropy:
      return entropy_form(logits, softmax, scratch);
    case DistributionKind::Draw:
      return draw_form(request, logits, softmax, scratch);
    case DistributionKind::Vector:
      break;
  }
  return Error(ErrorCode::Internal, "a vector is not made of logits");
}

}  // namespace quire::inference
