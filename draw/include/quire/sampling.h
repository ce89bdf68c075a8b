#pragma once
// Sampler draws a token from a distribution: greedy, temperature, top-k, top-p, min-p, with a seed.
//
// The same options, seed and distributions give the same tokens in every build of this header, as
// Wasm or native. For that, all arithmetic is IEEE double with +, -, * and / in a fixed order,
// without libm, and the random numbers are our own. So `quire generate` samples as guests do. The
// header knows nothing of guests and includes only the standard library. Devices draw with it too
// (forward_draw), so a program gets the same tokens whether it draws itself or has them drawn.
//
// Thread   one thread at a time for each Sampler.
// Errors   none: whatever the numbers are, some token of the distribution comes out. What is not a
//          positive finite probability counts as zero.
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

// Programs are compiled for size, and without this their loops over lanes would stay loops.
#if defined(__clang__)
#define QUIRE_UNROLLED _Pragma("clang loop unroll(full)")
#else
#define QUIRE_UNROLLED
#endif

#include "quire/annotations.h"

namespace quire {

// Numbers out of their range are an error where the host draws, and sampler_arguments() says so to
// users of a program. A Sampler by itself has no place for an error: it takes a temperature that is
// not above 0 as 0, a top_p above 1 as 1, and always leaves a token.
struct SamplerOptions {
  double temperature = 0.0;  // 0: greedy, the first token of the distribution. At most 1,000,000.
  std::uint32_t top_k = 0;   // Keep the k most probable tokens; 0: all of the vocabulary.
  double top_p = 1.0;        // 0 to 1: keep the fewest tokens that hold this share; 1: all.
  double min_p = 0.0;        // 0 to 1: keep tokens of this share of the most probable one; 0: all.
  std::uint64_t seed = 0;
};

namespace sampling {

inline constexpr double kSqrt2 = 1.4142135623730951;
inline constexpr double kLn2 = 0.6931471805599453;
inline constexpr double kLog2OfE = 1.4426950408889634;
inline constexpr double kLogTerms[] = {1.0 / 23, 1.0 / 21, 1.0 / 19, 1.0 / 17, 1.0 / 15, 1.0 / 13,
                                       1.0 / 11, 1.0 / 9,  1.0 / 7,  1.0 / 5,  1.0 / 3,  1.0};
inline constexpr double kExpTerms[] = {1.0 / 14, 1.0 / 13, 1.0 / 12, 1.0 / 11, 1.0 / 10,
                                       1.0 / 9,  1.0 / 8,  1.0 / 7,  1.0 / 6,  1.0 / 5,
                                       1.0 / 4,  1.0 / 3,  1.0 / 2,  1.0};

// log2 of a positive, finite, normal number. Absolute error below 2e-16 + 1 unit in the last place.
inline double log2(double value) {
#if defined(__clang__)
#pragma clang fp contract(off)
#endif
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(value);
  int exponent = static_cast<int>((bits >> 52) & 0x7ff) - 1023;
  double mantissa = std::bit_cast<double>((bits & 0x000fffffffffffffull) | 0x3ff0000000000000ull);
  if (mantissa > kSqrt2) {  // Into [sqrt(1/2), sqrt(2)], around 1.
    mantissa *= 0.5;
    exponent += 1;
  }
  // ln(m) = 2 atanh(s) = 2 (s + s^3/3 + s^5/5 + ...) with |s| <= 0.1716: twelve terms reach 2^-53.
  const double s = (mantissa - 1.0) / (mantissa + 1.0);
  const double s2 = s * s;
  double sum = 0.0;
  QUIRE_UNROLLED
  for (double term : kLogTerms) sum = sum * s2 + term;
  return static_cast<double>(exponent) + 2.0 * s * sum * kLog2OfE;
}

// 2 to the power of `value`, for values up to 1023; below -1022 it gives 0.
inline double exp2(double value) {
#if defined(__clang__)
#pragma clang fp contract(off)
#endif
  if (!(value >= -1022.0)) return 0.0;
  if (value > 1023.0) value = 1023.0;
  const double shifted = value + (value < 0.0 ? -0.5 : 0.5);
  const int whole = static_cast<int>(shifted);  // Nearest whole number; casts cut towards zero.
  const double x = (value - whole) * kLn2;      // |x| <= 0.3466: fourteen terms.
  double sum = 1.0;
  QUIRE_UNROLLED
  for (double term : kExpTerms) sum = 1.0 + sum * (x * term);
  const std::uint64_t biased = static_cast<std::uint64_t>(whole + 1023);
  return sum * std::bit_cast<double>(biased << 52);
}

// xoshiro256** (Blackman and Vigna), its state filled from the seed by splitmix64.
class Random {
 public:
  explicit Random(std::uint64_t seed) {
    for (std::uint64_t& word : state_) {
      seed += 0x9e3779b97f4a7c15ull;
      std::uint64_t mixed = seed;
      mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9ull;
      mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebull;
      word = mixed ^ (mixed >> 31);
    }
  }
  std::uint64_t next() {
    const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
    const std::uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }
  // One of 2^53 evenly spaced numbers from 0 up to, not including, 1.
  double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

 private:
  std::uint64_t state_[4];
};

// A number of SamplerOptions that is out of its range, or is not a number.
struct OutOfRange {
  const char* name;   // As the field is called.
  const char* range;  // "from 0 to 1".
  double value;
};

inline std::optional<OutOfRange> out_of_range(const SamplerOptions& options) {
  const auto within = [](double value, double most) { return value >= 0.0 && value <= most; };
  if (!within(options.temperature, 1e6)) {
    return OutOfRange{"temperature", "from 0 to 1000000", options.temperature};
  }
  if (!within(options.top_p, 1.0)) return OutOfRange{"top_p", "from 0 to 1", options.top_p};
  if (!within(options.min_p, 1.0)) return OutOfRange{"min_p", "from 0 to 1", options.min_p};
  return std::nullopt;
}

inline bool is_greedy(const SamplerOptions& options) {
  return !(options.temperature > 0.0);
}

inline double positive(float probability) {
  return probability > 0.0f && probability <= 3.0e38f ? static_cast<double>(probability) : 0.0;
}

// (p / largest) ^ (1 / temperature): 1 for the most probable token, so nothing overflows.
inline double weight(float probability, double largest, double temperature) {
  const double share = positive(probability) / largest;
  if (temperature == 1.0 || !(share > 0.0)) return share;
  return exp2(log2(share) / temperature);
}

// weight() of so many probabilities side by side: each goes through the same operations in the same
// order, so the bits are the same, and compilers make vector instructions of the loops. All of a
// vocabulary of 49,152 takes 0.7 ms instead of 1.3 with g++ 12, 0.4 with clang 22 (Zen 4).
inline constexpr std::size_t kLanes = 8;
inline void weigh_lanes(const float* probabilities, double largest, double temperature,
                        double* weights) {
#if defined(__clang__)
#pragma clang fp contract(off)
#endif
  double share[kLanes], exponent[kLanes], s[kLanes], s2[kLanes], sum[kLanes], power[kLanes];
  int whole[kLanes];
  QUIRE_UNROLLED
  for (std::size_t i = 0; i < kLanes; ++i) share[i] = positive(probabilities[i]) / largest;
  QUIRE_UNROLLED
  for (std::size_t i = 0; i < kLanes; ++i) {  // log2
    const auto bits = std::bit_cast<std::uint64_t>(share[i]);
    double mantissa = std::bit_cast<double>((bits & 0x000fffffffffffffull) | 0x3ff0000000000000ull);
    exponent[i] = static_cast<double>(static_cast<int>(bits >> 52) - 1023);
    const bool is_above = mantissa > kSqrt2;
    exponent[i] = is_above ? exponent[i] + 1.0 : exponent[i];
    mantissa = is_above ? mantissa * 0.5 : mantissa;
    s[i] = (mantissa - 1.0) / (mantissa + 1.0);
    s2[i] = s[i] * s[i];
    sum[i] = 0.0;
  }
  QUIRE_UNROLLED
  for (double term : kLogTerms) {
    QUIRE_UNROLLED
    for (std::size_t i = 0; i < kLanes; ++i) sum[i] = sum[i] * s2[i] + term;
  }
  QUIRE_UNROLLED
  for (std::size_t i = 0; i < kLanes; ++i) {  // exp2
    power[i] = (exponent[i] + 2.0 * s[i] * sum[i] * kLog2OfE) / temperature;
    const double above = power[i] >= -1022.0 ? power[i] : -1022.0;
    const double within = above > 1023.0 ? 1023.0 : above;
    whole[i] = static_cast<int>(within + (within < 0.0 ? -0.5 : 0.5));
    s[i] = (within - whole[i]) * kLn2;
    sum[i] = 1.0;
  }
  QUIRE_UNROLLED
  for (double term : kExpTerms) {
    QUIRE_UNROLLED
    for (std::size_t i = 0; i < kLanes; ++i) sum[i] = 1.0 + sum[i] * (s[i] * term);
  }
  QUIRE_UNROLLED
  for (std::size_t i = 0; i < kLanes; ++i) {
    const auto biased = static_cast<std::uint64_t>(whole[i] + 1023);
    const double weight = sum[i] * std::bit_cast<double>(biased << 52);
    weights[i] = share[i] > 0.0 && power[i] >= -1022.0 ? weight : 0.0;
  }
}

inline void weigh(std::span<const float> probabilities, double largest, double temperature,
                  double* weights) {
  std::size_t done = 0;
  if (temperature != 1.0) {
    for (; done + kLanes <= probabilities.size(); done += kLanes) {
      weigh_lanes(probabilities.data() + done, largest, temperature, weights + done);
    }
  }
  for (; done < probabilities.size(); ++done) {
    weights[done] = weight(probabilities[done], largest, temperature);
  }
}

// Sampler::draw_index for the random number `random` in [0, 1). `weights` is scratch memory.
inline std::size_t draw_index(std::span<const float> probabilities, const SamplerOptions& options,
                              double random, std::vector<double>& weights) {
  if (is_greedy(options) || probabilities.empty()) return 0;
  std::size_t count = probabilities.size();
  if (options.top_k > 0 && options.top_k < count) count = options.top_k;
  const double largest = positive(probabilities[0]);
  if (largest == 0.0) return 0;
  weights.resize(count);
  weigh(probabilities.first(count), largest, options.temperature, weights.data());
  double total = 0.0;
  for (std::size_t i = 0; i < count; ++i) total += weights[i];
  const double share_max = options.top_p < 1.0 ? options.top_p * total : total;
  // The first token always stays; a later one stays while the share before it is too small.
  double kept = 0.0;
  std::size_t kept_count = 0;
  for (; kept_count < count; ++kept_count) {
    const double each = weights[kept_count];
    if (kept_count > 0 && (kept >= share_max || each < options.min_p || each == 0.0)) break;
    kept += each;
  }
  const double wanted = random * kept;
  double passed = 0.0;
  for (std::size_t i = 0; i < kept_count; ++i) {
    passed += weights[i];
    if (wanted < passed) return i;
  }
  return kept_count - 1;
}

}  // namespace sampling

class Sampler {
 public:
  explicit Sampler(SamplerOptions options) : options_(options), random_(options.seed) {}

  // The index of the drawn token. `probabilities` fall and need not add up to 1 (get_next_dist cuts
  // a distribution to its K largest); shares are of what is given. The order is: top-k,
  // temperature, top-p, min-p, draw. One random number is used unless greedy. Nothing given: index
  // 0.
  std::size_t draw_index(std::span<const float> probabilities) {
    if (greedy() || probabilities.empty()) return 0;
    return sampling::draw_index(probabilities, options_, random_.uniform(), weights_);
  }

  // The random number of the next draw, if the host draws: forward_draw.
  double next_random() { return greedy() ? 0.0 : random_.uniform(); }

  // The drawn token. Both lists have one length, at least 1.
  std::uint32_t draw(std::span<const std::uint32_t> tokens, std::span<const float> probabilities) {
    return tokens[draw_index(probabilities)];
  }

  bool greedy() const { return sampling::is_greedy(options_); }
  // How many tokens of a distribution it looks at. The calls that take a top_k read 0 as their
  // default of 256, and cut what is beyond the vocabulary to it: so this is how to ask for all.
  std::uint32_t top_k_wanted() const {
    if (greedy()) return 1;
    return options_.top_k == 0 ? kWholeVocabulary : options_.top_k;
  }
  static constexpr std::uint32_t kWholeVocabulary = 0xffff'ffffu;
  const SamplerOptions& options() const QUIRE_LIFETIME_BOUND { return options_; }

 private:
  SamplerOptions options_;
  sampling::Random random_;
  std::vector<double> weights_;  // Of the last draw; kept so that a draw allocates nothing.
};

}  // namespace quire
