#pragma once
// RecurrentKernels in sixteen lanes, for every instruction set. As vector_math.h, which is included
// first, this is written in terms of `Lanes` and stays local to the file that includes it.
// recurrent_kernels.h says the order of sums; scalar/recurrent.cc defines everything, with the same
// bits.
//
// The delta rule. A tile of 128 keys has 8 KiB and stays in the first-level cache for all rows of a
// pass. A row needs S^T k before it can change S, and S^T q after. So the pass over the tile that
// changes it for one row also adds up S^T k for the next: load, store and four products for each
// sixteen numbers, and each number is touched once a row. A single row reads its tile twice, the
// second time from the cache. Four sums under way hide the latency of a fused multiplication.
#include <stddef.h>
#include <stdint.h>

#include "inference/kernels/recurrent_kernels.h"

namespace quire::inference {
namespace {

// Calls each(i, load, store) for the vectors of `count` numbers; the last may be shorter.
template <typename L, typename Each>
[[gnu::always_inline]] inline void for_vectors(uint32_t count, const Each& each) {
  const auto load = [](const float* from) { return L::load(from); };
  const auto store = [](float* to, typename L::Float x) { L::store(to, x); };
  uint32_t i = 0;
  for (; i + 16 <= count; i += 16) each(i, load, store);
  if (i == count) return;
  const uint32_t rest = count - i;
  each(
      i, [rest](const float* from) { return L::load_first(from, rest); },
      [rest](float* to, typename L::Float x) { L::store_first(to, rest, x); });
}

// 1 + exp(-x); the exponent is held within +-87, where a quotient by it is settled.
template <typename L>
[[gnu::always_inline]] inline typename L::Float sigmoid_divisor(typename L::Float x) {
  const auto negative = L::subtract(L::zero(), x);
  const auto within = L::min(L::set(87.0f), L::max(L::set(-87.0f), negative));
  return L::add(L::set(1.0f), exponential<L>(within));
}

// max(x, 0) + log(1 + u), u = exp(-|x|). With s = u / (2 + u) the logarithm is twice the area
// tangent of s, at most 1/3: the first term that its series leaves out is below 2e-8 of it.
template <typename L>
typename L::Float softplus(typename L::Float x) {
  const auto negative = L::subtract(L::zero(), x);
  const auto magnitude = L::max(x, negative);
  const auto u = exponential<L>(L::subtract(L::zero(), magnitude));
  const auto s = L::divide(u, L::add(L::set(2.0f), u));
  const auto s2 = L::multiply(s, s);
  auto series = L::set(1.0f / 13);
  const float terms[] = {1.0f / 11, 1.0f / 9, 1.0f / 7, 1.0f / 5, 1.0f / 3, 1.0f};
  for (const float term : terms) series = L::fma(series, s2, L::set(term));
  return L::add(L::max(L::zero(), x), L::multiply(L::add(s, s), series));
}

template <typename L>
void convolve(const ConvolutionTask& task) {
  for_vectors<L>(task.channel_count, [&](uint32_t i, const auto& load, const auto& store) {
    const uint32_t channel = task.channel_first + i;
    auto sum = L::zero();
    for (uint32_t j = 0; j < task.width; ++j) {
      const auto x = task.rows[j] == nullptr ? L::zero() : load(task.rows[j] + channel);
      sum = L::fma(load(task.weights + j * task.weight_stride + channel), x, sum);
    }
    store(task.out + i, L::divide(sum, sigmoid_divisor<L>(sum)));
  });
}

template <typename L>
float sum_of_squares(const float* x, uint32_t count) {
  auto squares = L::zero();
  for_vectors<L>(count, [&](uint32_t i, const auto& load, const auto&) {
    const auto value = load(x + i);
    squares = L::fma(value, value, squares);
  });
  return L::sum(squares);
}

template <typename L>
void l2_norm(float epsilon, float scale, uint32_t count, float* x) {
  const auto factor = L::set(scale / L::square_root(sum_of_squares<L>(x, count) + epsilon));
  for_vectors<L>(count, [&](uint32_t i, const auto& load, const auto& store) {
    store(x + i, L::multiply(load(x + i), factor));
  });
}

template <typename L>
void decays(const DecayTask& task) {
  for_vectors<L>(task.head_count, [&](uint32_t i, const auto& load, const auto& store) {
    const auto x = softplus<L>(L::add(load(task.decay + i), load(task.bias + i)));
    const auto log = L::min(L::set(88.0f), L::multiply(load(task.scale + i), x));
    store(task.decay + i, exponential<L>(log));
    store(task.beta + i, L::divide(L::set(1.0f), sigmoid_divisor<L>(load(task.beta + i))));
  });
}

// ---- the delta rule ----

// S^T k in parts.
template <typename L>
struct DeltaSum {
  typename L::Float parts[kDeltaSums];
  DeltaSum() {
    for (auto& each : parts) each = L::zero();
  }
  typename L::Float total() const {
    return L::add(L::add(parts[0], parts[1]), L::add(parts[2], parts[3]));
  }
};
static_assert(kDeltaSums == 4);

template <typename L>
typename L::Float keys_of_state(const float* state, const float* key, uint32_t key_dim) {
  DeltaSum<L> sum;
  const uint32_t whole = key_dim / kDeltaSums * kDeltaSums;
  for (uint32_t i = 0; i < whole; i += kDeltaSums) {
    for (uint32_t p = 0; p < kDeltaSums; ++p) {
      sum.parts[p] =
          L::fma(L::load(state + (i + p) * kDeltaColumns), L::set(key[i + p]), sum.parts[p]);
    }
  }
  for (uint32_t i = whole; i < key_dim; ++i) {
    auto& part = sum.parts[i % kDeltaSums];
    part = L::fma(L::load(state + i * kDeltaColumns), L::set(key[i]), part);
  }
  return sum.total();
}

// One row's change of a tile.
template <typename L>
struct DeltaStep {
  const float* from;
  float* to;
  const float* query;
  const float* key;
  const float* key_next;  // Of the row after it.
  typename L::Float decay, delta;
};

// Gives S^T q after the change, and S^T k of the next row if there is one.
template <typename L, bool kHasNext>
typename L::Float change_state(const DeltaStep<L>& step, uint32_t key_dim,
                               typename L::Float* of_next) {
  DeltaSum<L> output, next;
  const auto change = [&](uint32_t i, uint32_t p) {
    const auto decayed = L::multiply(step.decay, L::load(step.from + i * kDeltaColumns));
    const auto state = L::fma(L::set(step.key[i]), step.delta, decayed);
    L::store(step.to + i * kDeltaColumns, state);
    output.parts[p] = L::fma(state, L::set(step.query[i]), output.parts[p]);
    if constexpr (kHasNext) {
      next.parts[p] = L::fma(state, L::set(step.key_next[i]), next.parts[p]);
    }
  };
  const uint32_t whole = key_dim / kDeltaSums * kDeltaSums;
  for (uint32_t i = 0; i < whole; i += kDeltaSums) {
    for (uint32_t p = 0; p < kDeltaSums; ++p) change(i + p, p);
  }
  for (uint32_t i = whole; i < key_dim; ++i) change(i, i % kDeltaSums);
  if constexpr (kHasNext) *of_next = next.total();
  return output.total();
}

template <typename L>
void delta_rule(const DeltaTask& task) {
  alignas(64) float tile[kKeyDimMax * kDeltaColumns];
  const size_t tile_bytes = size_t{task.key_dim} * kDeltaColumns * sizeof(float);
  const auto tile_at = [&](std::byte* state) {
    return reinterpret_cast<float*>(state + task.tile_offset);
  };
  const float* from = tile;
  if (task.from == nullptr) {
    __builtin_memset(tile, 0, tile_bytes);
  } else {
    from = reinterpret_cast<const float*>(task.from + task.tile_offset);
  }
  const bool is_whole = task.column_count == kDeltaColumns;
  auto of_key = keys_of_state<L>(from, task.key, task.key_dim);
  const StateTarget* target = task.targets;
  const StateTarget* const target_end = target + task.target_count;
  for (uint32_t row = 0; row < task.row_count; ++row) {
    const size_t at = row * task.stride;
    const float* v = task.value + at;
    const auto value = is_whole ? L::load(v) : L::load_first(v, task.column_count);
    const auto decay = L::set(task.decay[row * task.gate_stride]);
    const auto beta = L::set(task.beta[row * task.gate_stride]);
    // The row's first target takes the tile as it is made, and the next row reads it there.
    const bool is_stored = target != target_end && target->row_count == row + 1;
    float* to = is_stored ? tile_at(target->to) : tile;
    const DeltaStep<L> step{from,
                            to,
                            task.query + at,
                            task.key + at,
                            task.key + at + task.stride,
                            decay,
                            L::multiply(beta, L::negative_fma(decay, of_key, value))};
    const auto output = row + 1 < task.row_count
                            ? change_state<L, true>(step, task.key_dim, &of_key)
                            : change_state<L, false>(step, task.key_dim, nullptr);
    float* out = task.out + row * task.out_stride;
    is_whole ? L::store(out, output) : L::store_first(out, task.column_count, output);
    if (is_stored) ++target;
    for (; target != target_end && target->row_count == row + 1; ++target) {
      __builtin_memcpy(tile_at(target->to), to, tile_bytes);
    }
    from = to;
  }
}

// ---- gates ----

template <typename L>
void gated_norm(const float* weight, const float* gate, float epsilon, uint32_t count, float* x) {
  const float mean = sum_of_squares<L>(x, count) / static_cast<float>(count);
  const auto factor = L::set(1.0f / L::square_root(mean + epsilon));
  for_vectors<L>(count, [&](uint32_t i, const auto& load, const auto& store) {
    const auto g = load(gate + i);
    const auto silu = L::divide(g, sigmoid_divisor<L>(g));
    const auto normed = L::multiply(L::multiply(load(x + i), factor), load(weight + i));
    store(x + i, L::multiply(normed, silu));
  });
}

template <typename L>
void sigmoid_multiply(const float* gate, uint32_t count, float* x) {
  for_vectors<L>(count, [&](uint32_t i, const auto& load, const auto& store) {
    store(x + i, L::divide(load(x + i), sigmoid_divisor<L>(load(gate + i))));
  });
}

}  // namespace
}  // namespace quire::inference
