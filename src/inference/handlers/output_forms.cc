#include "inference/handlers/output_forms.h"

#include <algorithm>
#include <cmath>
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

Result<Distribution> top_k_form(std::uint32_t top_k, float inverse_temperature,
                                std::span<float> logits, SoftmaxNumerators softmax,
                                OutputScratch& scratch) {
  const float sum =
      softmax(logits.data(), static_cast<std::uint32_t>(logits.size()), inverse_temperature);
  if (!std::isfinite(sum)) return not_finite();
  select_top(logits, top_k, scratch.top_k, scratch.indices);
  Distribution result;
  result.tokens.reserve(scratch.indices.size());
  result.probabilities.reserve(scratch.indices.size());
  for (const std::uint32_t token : scratch.indices) {
    result.tokens.push_back(TokenId{token});
    result.probabilities.push_back(logits[token] / sum);
  }
  return result;
}

Result<Distribution> draw_form(const DistributionRequest& request, std::span<float> logits,
                               SoftmaxNumerators softmax, OutputScratch& scratch) {
  Distribution all = TRY(top_k_form(request.top_k, 1.0f, logits, softmax, scratch));
  const SamplerOptions options{.temperature = request.draw.temperature,
                               .top_k = request.top_k,
                               .top_p = request.draw.top_p,
                               .min_p = request.draw.min_p};
  const std::size_t index =
      sampling::draw_index(all.probabilities, options, request.draw.random, scratch.weights);
  Distribution drawn;
  drawn.tokens.push_back(all.tokens[index]);
  drawn.probabilities.push_back(all.probabilities[index]);
  return drawn;
}

// Of the logits, not of their numerators: those of rare tokens are 0.
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
      return top_k_form(request.top_k, inverse, logits, softmax, scratch);
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
