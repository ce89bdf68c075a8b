// The draw without all of the vocabulary.
//
// The plain way sorts all candidates, weighs them, and adds the weights up in falling order. It
// takes the first token whose running sum exceeds random * total. The running sums of the first
// hundreds of candidates need only these. Of the others the draw needs one number, the total, and
// seldom all its bits. If a lower and an upper limit of the total lead to the same token, it is
// that token. Otherwise more candidates are ranked and weighed, at last all of them.
//
// The limits. Let S be the running sum of the m first candidates, exactly as the plain way rounds
// it. Let T be the exact sum of the other weights. The plain way's total differs from S + T by less
// than n * 2^-52 * total, the roundings of n additions. T is estimated from all candidates, less
// the estimates of the first m (weight_estimate.h, which says how far off that can be). The sums of
// the estimates, in double, are off by less than n * 2^-52 of themselves.
#include "inference/devices/shared/fast_draw.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "inference/devices/shared/weight_estimate.h"

namespace quire::inference {
namespace {

// select_top takes up to a forty-eighth of the values without sorting all.
constexpr std::size_t kRankedFirst = 512;
constexpr std::size_t kRankedFactor = 4;
constexpr std::size_t kCountMin = 8 * kRankedFirst;

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
    estimator_ = WeightEstimator(largest_, sum_, rule_.temperature, scratch_.sum_of_powers);
    all_estimated_ = estimator_.estimate(numerators_);
    weigh(kRankedFirst);
  }

  bool is_whole() const { return weights().size() == numerators_.size(); }
  std::span<const double> weights() const { return scratch_.draw.weights; }

  void extend() {
    if (scratch_.order.size() < numerators_.size()) rank(numerators_.size());
    weigh(std::min(kRankedFactor * weights().size(), numerators_.size()));
  }

  // The limits of the sum of all weights in falling order, of which the ranked ones give
  // `ranked_sum`.
  Limits with_others(double ranked_sum) const {
    const auto count = static_cast<double>(numerators_.size());
    const double error = estimator_.error();
    const double others = std::max(all_estimated_ - ranked_estimated_, 0.0);
    const double slack = count * 0x1p-50 * (all_estimated_ + ranked_sum);
    return {ranked_sum + others * (1.0 - error) - slack,
            ranked_sum + others * (1.0 + error) + count * WeightEstimator::kUncountedMost + slack};
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
    ranked_estimated_ += estimator_.estimate(scratch_.numerators);
    weights.resize(count);
    sampling::weigh(scratch_.probabilities, sampling::positive(largest_), rule_.temperature,
                    weights.data() + first);
  }

  const std::span<const float> numerators_;
  const float sum_;
  const DrawRule& rule_;
  FastDrawScratch& scratch_;
  float largest_ = 0.0f;
  WeightEstimator estimator_{1.0f, 1.0f, 1.0};
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

// The share at which step 9 ends. Without a top_p it is the total. Candidates after the running sum
// reached the total add nothing to it, so the end matters only to XTC, which counts tokens.
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
      rule.temperature < WeightEstimator::kTemperatureMin) {
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
