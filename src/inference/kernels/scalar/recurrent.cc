// The operations of layers with a state, by the fused operations of vector_recurrent.h in the same
// order. So every table has the same bits. std::fma rounds once whether the machine has the
// operation or not.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "inference/kernels/scalar/scalar.h"

namespace quire::inference::scalar {
namespace {

constexpr std::uint32_t kLanes = 16;

// The exponential of vector_math.h. Arguments are at most 88.
float fused_exponential(float x) {
  if (x != x) return x;
  if (x < -87.0f) return 0.0f;
  const float n = std::nearbyint(x * 1.44269504f);
  float r = std::fma(-n, 0.693359375f, x);
  r = std::fma(-n, -2.12194440e-4f, r);
  float p = 1.9875691500e-4f;
  p = std::fma(p, r, 1.3981999507e-3f);
  p = std::fma(p, r, 8.3334519073e-3f);
  p = std::fma(p, r, 4.1665795894e-2f);
  p = std::fma(p, r, 1.6666665459e-1f);
  p = std::fma(p, r, 5.0000001201e-1f);
  p = std::fma(p, r * r, r) + 1.0f;
  const auto exponent = static_cast<std::uint32_t>(static_cast<std::int32_t>(n) + 127) << 23;
  return p * std::bit_cast<float>(exponent);
}

// The second if either is not a number.
float larger(float a, float b) {
  return a > b ? a : b;
}
float smaller(float a, float b) {
  return a < b ? a : b;
}

float sigmoid_divisor(float x) {
  return 1.0f + fused_exponential(smaller(87.0f, larger(-87.0f, 0.0f - x)));
}

float softplus(float x) {
  const float u = fused_exponential(0.0f - larger(x, 0.0f - x));
  const float s = u / (2.0f + u);
  const float s2 = s * s;
  float series = 1.0f / 13;
  for (const float term : {1.0f / 11, 1.0f / 9, 1.0f / 7, 1.0f / 5, 1.0f / 3, 1.0f}) {
    series = std::fma(series, s2, term);
  }
  return larger(0.0f, x) + (s + s) * series;
}

float sum_of_squares(const float* x, std::uint32_t count) {
  float lanes[kLanes] = {};
  for (std::uint32_t i = 0; i < count; ++i) {
    lanes[i % kLanes] = std::fma(x[i], x[i], lanes[i % kLanes]);
  }
  for (std::uint32_t width = kLanes / 2; width > 0; width /= 2) {
    for (std::uint32_t i = 0; i < width; ++i) lanes[i] += lanes[i + width];
  }
  return lanes[0];
}

// The sum over keys of S[key][column] * x[key].
float sum_of_keys(const float* state, std::uint32_t column, const float* x, std::uint32_t key_dim) {
  float parts[kDeltaSums] = {};
  for (std::uint32_t i = 0; i < key_dim; ++i) {
    float& part = parts[i % kDeltaSums];
    part = std::fma(state[i * kDeltaColumns + column], x[i], part);
  }
  return (parts[0] + parts[1]) + (parts[2] + parts[3]);
}

}  // namespace

void convolve(const ConvolutionTask& task) {
  const std::uint32_t end = task.channel_first + task.channel_count;
  for (std::uint32_t c = task.channel_first; c < end; ++c) {
    float sum = 0.0f;
    for (std::uint32_t j = 0; j < task.width; ++j) {
      const float x = task.rows[j] == nullptr ? 0.0f : task.rows[j][c];
      sum = std::fma(task.weights[j * task.weight_stride + c], x, sum);
    }
    task.out[c - task.channel_first] = sum / sigmoid_divisor(sum);
  }
}

void l2_norm(float epsilon, float scale, std::uint32_t count, float* x) {
  const float factor = scale / std::sqrt(sum_of_squares(x, count) + epsilon);
  for (std::uint32_t i = 0; i < count; ++i) x[i] *= factor;
}

void decays(const DecayTask& task) {
  for (std::uint32_t h = 0; h < task.head_count; ++h) {
    const float x = softplus(task.decay[h] + task.bias[h]);
    task.decay[h] = fused_exponential(smaller(88.0f, task.scale[h] * x));
    task.beta[h] = 1.0f / sigmoid_divisor(task.beta[h]);
  }
}

void delta_rule(const DeltaTask& task) {
  float state[kKeyDimMax * kDeltaColumns] = {};
  const std::size_t bytes = std::size_t{task.key_dim} * kDeltaColumns * sizeof(float);
  if (task.from != nullptr) std::memcpy(state, task.from + task.tile_offset, bytes);
  const StateTarget* target = task.targets;
  const StateTarget* const target_end = target + task.target_count;
  for (std::uint32_t row = 0; row < task.row_count; ++row) {
    const float* key = task.key + row * task.key_stride;
    const float decay = task.decay[row * task.gate_stride];
    const float beta = task.beta[row * task.gate_stride];
    for (std::uint32_t c = 0; c < kDeltaColumns; ++c) {
      const bool is_value = c < task.column_count;
      const float value = is_value ? task.value[row * task.value_stride + c] : 0.0f;
      const float of_key = sum_of_keys(state, c, key, task.key_dim);
      const float delta = beta * std::fma(-decay, of_key, value);
      for (std::uint32_t i = 0; i < task.key_dim; ++i) {
        float& number = state[i * kDeltaColumns + c];
        number = std::fma(key[i], delta, decay * number);
      }
      const float output = sum_of_keys(state, c, task.query + row * task.key_stride, task.key_dim);
      if (is_value) task.out[row * task.out_stride + c] = output;
    }
    for (; target != target_end && target->row_count == row + 1; ++target) {
      std::memcpy(target->to + task.tile_offset, state, bytes);
    }
  }
}

void gated_norm(const float* weight, const float* gate, float epsilon, std::uint32_t count,
                float* x) {
  const float mean = sum_of_squares(x, count) / static_cast<float>(count);
  const float factor = 1.0f / std::sqrt(mean + epsilon);
  for (std::uint32_t i = 0; i < count; ++i) {
    x[i] = x[i] * factor * weight[i] * (gate[i] / sigmoid_divisor(gate[i]));
  }
}

void sigmoid_multiply(const float* gate, std::uint32_t count, float* x) {
  for (std::uint32_t i = 0; i < count; ++i) x[i] /= sigmoid_divisor(gate[i]);
}

}  // namespace quire::inference::scalar
