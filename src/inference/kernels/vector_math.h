#pragma once
// Norms, activations, rotations and the exponential, in sixteen lanes, for every instruction set.
//
// Written in terms of a `Lanes` policy (avx512/lanes.h, avx2/lanes.h) that an instruction-set file
// includes first. Everything lies in an unnamed namespace: each file gets its own local copy, and
// no weak symbol leaves it. Sums run over lanes in a fixed order. If a count is not a multiple of
// sixteen, the last vector is filled up with zeros.
#include <stddef.h>
#include <stdint.h>

#include "inference/kernels/vector_set.h"

namespace quire::inference {
namespace {

// 2^n times a polynomial in the remainder: relative error about 2e-7 (Cephes). Below -87 gives
// zero, not-a-number stays. Arguments are at most 88.
template <typename L>
typename L::Float exponential(typename L::Float x) {
  const auto n = L::round_even(L::multiply(x, L::set(1.44269504f)));
  auto r = L::negative_fma(n, L::set(0.693359375f), x);
  r = L::negative_fma(n, L::set(-2.12194440e-4f), r);
  auto p = L::set(1.9875691500e-4f);
  p = L::fma(p, r, L::set(1.3981999507e-3f));
  p = L::fma(p, r, L::set(8.3334519073e-3f));
  p = L::fma(p, r, L::set(4.1665795894e-2f));
  p = L::fma(p, r, L::set(1.6666665459e-1f));
  p = L::fma(p, r, L::set(5.0000001201e-1f));
  p = L::add(L::fma(p, L::multiply(r, r), r), L::set(1.0f));
  return L::zero_where_less(L::times_power_of_two(p, n), x, L::set(-87.0f));
}

template <typename L>
void rms_norm(const float* x, const float* weight, float epsilon, uint32_t count, float* out) {
  auto squares = L::zero();
  uint32_t i = 0;
  for (; i + 16 <= count; i += 16) {
    const auto value = L::load(x + i);
    squares = L::fma(value, value, squares);
  }
  if (i < count) {
    const auto value = L::load_first(x + i, count - i);
    squares = L::fma(value, value, squares);
  }
  const float mean = L::sum(squares) / static_cast<float>(count);
  const auto factor = L::set(1.0f / L::square_root(mean + epsilon));
  for (i = 0; i + 16 <= count; i += 16) {
    L::store(out + i, L::multiply(L::multiply(L::load(x + i), factor), L::load(weight + i)));
  }
  if (i < count) {
    const auto value = L::multiply(L::load_first(x + i, count - i), factor);
    L::store_first(out + i, count - i, L::multiply(value, L::load_first(weight + i, count - i)));
  }
}

template <typename L>
void add(const float* x, uint32_t count, float* into) {
  uint32_t i = 0;
  for (; i + 16 <= count; i += 16) L::store(into + i, L::add(L::load(into + i), L::load(x + i)));
  if (i == count) return;
  const auto value = L::add(L::load_first(into + i, count - i), L::load_first(x + i, count - i));
  L::store_first(into + i, count - i, value);
}

// gate / (1 + exp(-gate)) * up; the exponent is held within +-87, where the quotient is settled.
template <typename L>
typename L::Float silu_times(typename L::Float gate, typename L::Float up) {
  const auto negative = L::subtract(L::zero(), gate);
  const auto bounded = L::min(L::set(87.0f), L::max(L::set(-87.0f), negative));
  const auto divisor = L::add(L::set(1.0f), exponential<L>(bounded));
  return L::multiply(L::divide(gate, divisor), up);
}

template <typename L>
void silu_multiply(const float* gate, const float* up, uint32_t count, float* out) {
  uint32_t i = 0;
  for (; i + 16 <= count; i += 16) {
    L::store(out + i, silu_times<L>(L::load(gate + i), L::load(up + i)));
  }
  if (i == count) return;
  const auto value =
      silu_times<L>(L::load_first(gate + i, count - i), L::load_first(up + i, count - i));
  L::store_first(out + i, count - i, value);
}

template <typename L>
void rope(const float* cosine, const float* sine, uint32_t half, float* x) {
  for (uint32_t i = 0; i < half; i += 16) {
    const bool whole = i + 16 <= half;
    const auto get = [&](const float* from) {
      return whole ? L::load(from + i) : L::load_first(from + i, half - i);
    };
    const auto put = [&](float* to, typename L::Float value) {
      whole ? L::store(to + i, value) : L::store_first(to + i, half - i, value);
    };
    const auto c = get(cosine), s = get(sine), low = get(x), high = get(x + half);
    put(x, L::negative_fma(high, s, L::multiply(low, c)));
    put(x + half, L::fma(low, s, L::multiply(high, c)));
  }
}

template <typename L>
float softmax_numerators(float* x, uint32_t count, float inverse_temperature) {
  const auto factor = L::set(inverse_temperature);
  const auto lowest = L::set(-__builtin_inff());
  const uint32_t whole = count / 16 * 16, rest = count - whole;
  const uint32_t rest_bits = (1u << rest) - 1;
  auto top = lowest;
  for (uint32_t i = 0; i < whole; i += 16) top = L::max(top, L::multiply(L::load(x + i), factor));
  if (rest != 0) {
    const auto value = L::multiply(L::load_first(x + whole, rest), factor);
    top = L::max(top, L::select(rest_bits, value, lowest));
  }
  const auto largest = L::set(L::largest(top));
  auto sum = L::zero();
  for (uint32_t i = 0; i < whole; i += 16) {
    const auto shifted = L::subtract(L::multiply(L::load(x + i), factor), largest);
    const auto value = exponential<L>(shifted);
    L::store(x + i, value);
    sum = L::add(sum, value);
  }
  if (rest != 0) {
    const auto scaled = L::multiply(L::load_first(x + whole, rest), factor);
    const auto value = exponential<L>(L::subtract(scaled, largest));
    L::store_first(x + whole, rest, value);
    sum = L::add(sum, L::select(rest_bits, value, L::zero()));
  }
  return L::sum(sum);
}

// scalar/kv_quantised.h defines the next three.
inline uint32_t hadamard_size(uint32_t head_dim) {
  return head_dim & (~head_dim + 1);
}

inline void turn(uint32_t head_dim, float* x) {
  const uint32_t size = hadamard_size(head_dim);
  for (uint32_t apart = 1; apart < size; apart *= 2) {
    for (uint32_t first = 0; first < head_dim; first += 2 * apart) {
      for (uint32_t i = first; i < first + apart; ++i) {
        const float a = x[i], b = x[i + apart];
        x[i] = a + b;
        x[i + apart] = a - b;
      }
    }
  }
}

// `count`: a multiple of sixteen.
template <typename L>
float quantise_row(uint32_t count, const float* x, int8_t* codes, int32_t* sum) {
  uint32_t largest = 0;
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t bits;
    __builtin_memcpy(&bits, x + i, sizeof(bits));
    bits &= 0x7fffffffu;
    largest = bits > largest ? bits : largest;
  }
  float magnitude;
  __builtin_memcpy(&magnitude, &largest, sizeof(magnitude));
  *sum = 0;
  if (largest >= 0x7f800000u || magnitude < 1e-30f) {
    for (uint32_t i = 0; i < count; ++i) codes[i] = 0;
    return largest >= 0x7f800000u ? __builtin_nanf("") : 0.0f;
  }
  const float inverse = 127.0f / magnitude;
  for (uint32_t i = 0; i < count; i += 16) *sum += L::to_bytes(x + i, inverse, codes + i);
  return magnitude / 127.0f;
}

// scalar/powers.cc defines it; devices/shared/weight_estimate.cc says how far off it may be.
// Called, it would pass each vector through memory: half the speed.
template <typename L>
[[gnu::always_inline]] inline typename L::Float power(typename L::Float numerator,
                                                      const PowerScale& scale) {
  const auto probability = L::multiply(L::divide(numerator, L::set(scale.sum)), L::set(0x1p64f));
  typename L::Float exponent, mantissa;
  L::split(probability, &exponent, &mantissa);
  const auto s = L::divide(L::subtract(mantissa, L::set(1.0f)), L::add(mantissa, L::set(1.0f)));
  const auto s2 = L::multiply(s, s);
  auto series = L::fma(s2, L::set(1.0f / 7), L::set(1.0f / 5));
  series = L::fma(series, s2, L::set(1.0f / 3));
  series = L::fma(series, s2, L::set(1.0f));
  const auto mantissa_log = L::multiply(L::multiply(s, series), L::set(2.88539008f));  // 2 / ln 2
  const auto log = L::add(L::subtract(exponent, L::set(static_cast<float>(scale.exponent))),
                          L::subtract(mantissa_log, L::set(scale.mantissa_log)));
  const auto wanted = L::multiply(log, L::set(scale.inverse_temperature));
  const auto within = L::max(wanted, L::set(kLowestPower));
  const auto whole = L::round_even(within);
  const auto x = L::multiply(L::subtract(within, whole), L::set(0.693147181f));
  auto sum = L::set(1.0f / 5040);
  const float terms[] = {1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f, 1.0f, 1.0f};
  for (const float term : terms) sum = L::fma(sum, x, L::set(term));
  const auto weight = L::times_power_of_two(sum, whole);
  const auto counted = L::zero_where_less(weight, wanted, L::set(kLowestPower));
  return L::zero_where_less(counted, probability, L::set(0x1p-100f));
}

template <typename L>
double sum_of_powers(const float* numerators, size_t count, const PowerScale& scale) {
  auto sums = L::no_doubles();
  size_t i = 0;
  for (; i + 16 <= count; i += 16) {
    sums = L::add_floats(sums, power<L>(L::load(numerators + i), scale));
  }
  if (i < count) {
    const auto rest = L::load_first(numerators + i, static_cast<uint32_t>(count - i));
    sums = L::add_floats(sums, power<L>(rest, scale));
  }
  return L::sum(sums);
}

// scalar/quantised.h defines it.
template <typename L>
void quantise(uint32_t column_count, const float* x, ActivationBlock* out) {
  for (uint32_t first = 0; first < column_count; first += 32, ++out) {
    const uint32_t largest = L::largest_magnitude(x + first);
    float magnitude;
    __builtin_memcpy(&magnitude, &largest, sizeof(magnitude));
    if (largest >= 0x7f800000u || magnitude < 1e-30f) {
      *out = {};
      if (largest >= 0x7f800000u) out->scale = out->scaled_sum = __builtin_nanf("");
      continue;
    }
    const float inverse = 127.0f / magnitude;
    const int32_t low = L::to_bytes(x + first, inverse, out->values);
    const int32_t sum = low + L::to_bytes(x + first + 16, inverse, out->values + 16);
    out->scale = magnitude / 127.0f;
    out->scaled_sum = out->scale * static_cast<float>(sum);
    out->negative_sum = -sum;
    out->negative_sum_low = -low;
  }
}

}  // namespace
}  // namespace quire::inference
