// The draw without all of the vocabulary.
//
// The plain way sorts all candidates, weighs them, adds the weights up in falling order and takes
// the first token whose running sum exceeds random * total. The running sums of the first hundreds
// of candidates need only these. Of the others the draw needs one number, the total, and seldom all
// its bits: if a lower and an upper limit of the total lead to the same token, it is that token.
// Otherwise more candidates are ranked and weighed, at last all of them.
//
// The limits. Let S be the exact running sum of the m first candidates, as the plain way rounds it,
// and T the exact sum of the other weights. The plain way's total differs from S + T by less than
// n * 2^-52 * total, the roundings of n additions. T is estimated from all candidates in f32
// (estimate_lanes), less the estimates of the first m. With y = log2(p / p0) / temperature:
//   - the logarithm is off by less than 2^-21 + 2^-24 + |log2(p / p0)| * 2^-24: the series stops at
//     s^7, which leaves 2^-24, and its f32 operations add 2^-22;
//   - so y is off by less than 5.4e-7 / temperature + |y| * 1.8e-7, and for y >= -40 the weight by a
//     factor within 1 +- (3.8e-7 / temperature + 5.1e-6);
//   - 2^y is off by less than 2^-21: seven terms leave 2^-27, and f32 operations add 2^-22.
// Together that is less than kErrorFixed + kErrorPerInverse / temperature. Weights below 2^-40
// count as zero; n of them are less than n * 2^-39. The sums of the estimates, in double, are off by
// less than n * 2^-52 of themselves.
#include "inference/handlers/fast_draw.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>

namespace quire::inference {
namespace {

constexpr double kErrorFixed = 1e-5;
constexpr double kErrorPerInverse = 1e-6;
// Below it the error would no longer be small; few candidates have any weight then.
constexpr double kTemperatureMin = 0.01;
// select_top takes up to a forty-eighth of the values without sorting all.
constexpr std::size_t kRankedFirst = 512;
constexpr std::size_t kRankedFactor = 4;
constexpr std::size_t kCountMin = 8 * kRankedFirst;
constexpr std::size_t kLanes = 16;
constexpr float kLowestPower = -40.0f;

// What the estimates need of the most probable candidate and of the rule.
struct Estimator {
  float sum;
  std::int32_t exponent;  // Of the largest probability,
  float mantissa_log;     // and the base-2 logarithm of its mantissa.
  float inverse_temperature;
};

// Probabilities may be denormal; times 2^64 they are not.
constexpr float kScale = 0x1p64f;
constexpr std::int32_t kMantissaBits = 23;

constexpr std::uint32_t kHalfRootBits = 0x3f35'04f3u;  // Of sqrt(1/2).

// A number as 2^exponent * mantissa, with a mantissa around 1: from sqrt(1/2) to sqrt(2).
std::int32_t exponent_of(std::uint32_t bits) {
  return static_cast<std::int32_t>(bits - kHalfRootBits) >> kMantissaBits;
}
float mantissa_of(std::uint32_t bits, std::int32_t exponent) {
  return std::bit_cast<float>(bits - (static_cast<std::uint32_t>(exponent) << kMantissaBits));
}

Estimator make_estimator(float largest, float sum, double temperature) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(largest * kScale);
  const std::int32_t exponent = exponent_of(bits);
  const auto mantissa = static_cast<double>(mantissa_of(bits, exponent));
  return {.sum = sum,
          .exponent = exponent,
          .mantissa_log = static_cast<float>(sampling::log2(mantissa)),
          .inverse_temperature = static_cast<float>(1.0 / temperature)};
}

std::uint32_t all_bits_if(bool condition) {
  return 0u - static_cast<std::uint32_t>(condition);
}

// Adds the estimated weights of kLanes candidates to the sums. Conditions are masks of bits, because
// g++ makes vector instructions only of loops without branches: 4 times as fast.
void estimate_lanes(const float* numerators, const Estimator& estimator, double* sums) {
  const Estimator of = estimator;
  float probability[kLanes], power[kLanes], weight[kLanes];
  for (std::size_t i = 0; i < kLanes; ++i) probability[i] = numerators[i] / of.sum;
  for (std::size_t i = 0; i < kLanes; ++i) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(probability[i] * kScale);
    const std::int32_t exponent = exponent_of(bits);
    const float mantissa = mantissa_of(bits, exponent);
    const float s = (mantissa - 1.0f) / (mantissa + 1.0f);
    const float s2 = s * s;
    const float series = ((s2 * (1.0f / 7) + 1.0f / 5) * s2 + 1.0f / 3) * s2 + 1.0f;
    const float mantissa_log = s * series * 2.88539008f;  // 2 / ln 2
    const float log = static_cast<float>(exponent - of.exponent) + (mantissa_log - of.mantissa_log);
    power[i] = log * of.inverse_temperature;
  }
  for (std::size_t i = 0; i < kLanes; ++i) {
    const std::uint32_t counts = all_bits_if(power[i] >= kLowestPower);
    const float within = std::bit_cast<float>(std::bit_cast<std::uint32_t>(power[i]) & counts);
    const std::int32_t whole = static_cast<std::int32_t>(within - 0.5f);
    const float x = (within - static_cast<float>(whole)) * 0.693147181f;
    float sum = 1.0f / 5040;
    sum = sum * x + 1.0f / 720;
    sum = sum * x + 1.0f / 120;
    sum = sum * x + 1.0f / 24;
    sum = sum * x + 1.0f / 6;
    sum = sum * x + 0.5f;
    sum = sum * x + 1.0f;
    sum = sum * x + 1.0f;
    const float two_to_whole =
        std::bit_cast<float>(static_cast<std::uint32_t>(whole + 127) << kMantissaBits);
    const std::uint32_t is_some = all_bits_if(probability[i] > 0.0f) & counts;
    weight[i] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(sum * two_to_whole) & is_some);
  }
  for (std::size_t i = 0; i < kLanes; ++i) sums[i] += static_cast<double>(weight[i]);
}

double estimate(std::span<const float> numerators, const Estimator& of) {
  double sums[kLanes] = {};
  std::size_t done = 0;
  for (; done + kLanes <= numerators.size(); done += kLanes) {
    estimate_lanes(numerators.data() + done, of, sums);
  }
  float rest[kLanes] = {};
  std::copy(numerators.begin() + static_cast<std::ptrdiff_t>(done), numerators.end(), rest);
  estimate_lanes(rest, of, sums);
  double sum = 0.0;
  for (const double each : sums) sum += each;
  return sum;
}

// A sum that is known only within limits.
struct Limits {
  double least, most;
};

// Ranked candidates, their weights, and the limits of what the others weigh.
class RankedPart {
 public:
  RankedPart(std::span<const float> numerators, float sum, const DrawRule& rule,
             FastDrawScratch& scratch)
      : numerators_(numerators), sum_(sum), rule_(rule), scratch_(scratch) {
    scratch_.draw.weights.clear();
    rank(kRankedFirst);
    largest_ = numerators_[scratch_.order[0]] / sum_;
  }

  // Whether the estimates hold: the limits are for probabilities.
  bool has_probabilities() const { return largest_ > 0.0f && largest_ <= 1.0f; }

  void estimate_all() {
    estimator_ = make_estimator(largest_, sum_, rule_.temperature);
    all_estimated_ = estimate(numerators_, estimator_);
    weigh(kRankedFirst);
  }

  bool is_whole() const { return weights().size() == numerators_.size(); }
  std::span<const double> weights() const { return scratch_.draw.weights; }

  void extend() {
    if (scratch_.order.size() < numerators_.size()) rank(numerators_.size());
    weigh(std::min(kRankedFactor * weights().size(), numerators_.size()));
  }

  // Of a sum of all weights in falling order, of which the ranked ones give `ranked_sum`.
  Limits with_others(double ranked_sum) const {
    const auto count = static_cast<double>(numerators_.size());
    const double error = kErrorFixed + kErrorPerInverse / rule_.temperature;
    const double others = std::max(all_estimated_ - ranked_estimated_, 0.0);
    const double slack = count * 0x1p-50 * (all_estimated_ + ranked_sum);
    return {ranked_sum + others * (1.0 - error) - slack,
            ranked_sum + others * (1.0 + error) + count * 0x1p-39 + slack};
  }

 private:
  void rank(std::size_t count) {
    select_top(numerators_, static_cast<std::uint32_t>(count), scratch_.top_k, scratch_.order);
  }

  void weigh(std::size_t count) {
    std::vector<double>& weights = scratch_.draw.weights;
    const std::size_t first = weights.size();
    scratch_.numerators.clear();
    scratch_.probabilities.clear();
    for (std::size_t i = first; i < count; ++i) {
      scratch_.numerators.push_back(numerators_[scratch_.order[i]]);
      scratch_.probabilities.push_back(scratch_.numerators.back() / sum_);
    }
    ranked_estimated_ += estimate(scratch_.numerators, estimator_);
    weights.resize(count);
    sampling::weigh(scratch_.probabilities, sampling::positive(largest_), rule_.temperature,
                    weights.data() + first);
  }

  const std::span<const float> numerators_;
  const float sum_;
  const DrawRule& rule_;
  FastDrawScratch& scratch_;
  float largest_ = 0.0f;
  Estimator estimator_{};
  double all_estimated_ = 0.0;
  double ranked_estimated_ = 0.0;
};

// Steps 9 and 10: how many of the ranked candidates stay and what they weigh. If the border is not
// certain, they are those that stay for certain.
struct Border {
  std::size_t count;
  double sum;
  bool is_certain;
};
Border find_border(std::span<const double> weights, Limits share, double least) {
  Border border{0, 0.0, true};
  for (; border.count < weights.size(); ++border.count) {
    const double each = weights[border.count];
    if (border.count > 0) {
      if (each < least || each == 0.0 || border.sum >= share.most) return border;
      if (!(border.sum < share.least)) break;
    }
    border.sum += each;
  }
  border.is_certain = false;
  return border;
}

// The share at which step 9 ends. Without a top_p it is the total: what comes after the running sum
// reached that adds nothing to it, so the end matters only to XTC, which counts tokens.
Limits share_limits(Limits total, const DrawRule& rule, bool has_coin) {
  if (rule.top_p < 1.0) return {rule.top_p * total.least, rule.top_p * total.most};
  if (has_coin) return total;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return {kInfinity, kInfinity};
}

// Step 12 for a sum within limits: the rank of the drawn candidate, if both lead to the same.
std::optional<std::size_t> draw_within(std::span<const double> weights, std::size_t first,
                                       Limits kept, double random) {
  double passed = 0.0;
  for (std::size_t i = first; i < weights.size(); ++i) {
    passed += weights[i];
    if (random * kept.most < passed) return i;
    if (random * kept.least < passed) return std::nullopt;
  }
  return std::nullopt;
}

// The rank of the drawn candidate, if the ranked ones decide it.
std::optional<std::size_t> decide(const RankedPart& part, const DrawRule& rule, double random) {
  const std::span<const double> weights = part.weights();
  double sum = 0.0;
  for (const double each : weights) sum += each;
  if (part.is_whole()) return sampling::draw_weighed(weights, sum, rule, random);
  Limits kept = part.with_others(sum);
  const bool has_coin = sampling::xtc_applies(rule, random);
  const Border border =
      find_border(weights, share_limits(kept, rule, has_coin), rule.min_p * weights[0]);
  if (border.is_certain) {
    return sampling::draw_after_cuts(weights.first(border.count), border.sum, rule, random);
  }
  if (rule.top_p < 1.0 || rule.min_p > 0.0) return std::nullopt;  // It lies among the others.
  if (!has_coin) return draw_within(weights, 0, kept, random);
  const std::span<const double> certain = weights.first(border.count);
  const std::size_t first = sampling::first_after_xtc(certain, kept.least, rule, random);
  const bool is_same = first == sampling::first_after_xtc(certain, kept.most, rule, random);
  if (!is_same || first + 1 >= certain.size()) return std::nullopt;
  sum = 0.0;
  for (std::size_t i = first; i < weights.size(); ++i) sum += weights[i];
  return draw_within(weights, first, part.with_others(sum), random);
}

std::size_t draw_plainly(std::span<const float> numerators, float sum, const DrawRule& rule,
                         double random, FastDrawScratch& scratch) {
  const std::size_t count = sampling::top_k_count(rule, numerators.size());
  select_top(numerators, static_cast<std::uint32_t>(count), scratch.top_k, scratch.order);
  scratch.probabilities.clear();
  for (const std::uint32_t each : scratch.order) {
    scratch.probabilities.push_back(numerators[each] / sum);
  }
  return scratch.order[sampling::draw_index(scratch.probabilities, rule, random, scratch.draw)];
}

}  // namespace

std::size_t draw_unsorted(std::span<const float> numerators, float sum, const DrawRule& rule,
                          double random, FastDrawScratch& scratch) {
  if (is_greedy(rule)) {
    select_top(numerators, 1, scratch.top_k, scratch.order);
    return scratch.order[0];
  }
  const bool keeps_all = sampling::top_k_count(rule, numerators.size()) == numerators.size();
  if (!keeps_all || numerators.size() < kCountMin || rule.typical_p < 1.0 ||
      rule.temperature < kTemperatureMin) {
    return draw_plainly(numerators, sum, rule, random, scratch);
  }
  RankedPart part(numerators, sum, rule, scratch);
  if (!part.has_probabilities()) return draw_plainly(numerators, sum, rule, random, scratch);
  part.estimate_all();
  for (;;) {
    if (const auto rank = decide(part, rule, random)) return scratch.order[*rank];
    part.extend();
  }
}

}  // namespace quire::inference
