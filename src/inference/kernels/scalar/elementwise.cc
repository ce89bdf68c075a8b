// Norm, activation, rotation and softmax, in F32. Sums run in 16 lanes, value i in lane i % 16, and
// the lanes are then added as a tree (8, 4, 2, 1): an order that any vector width can follow.
#include <algorithm>
#include <cmath>
#include <limits>

#include "inference/kernels/scalar/exponential.h"
#include "inference/kernels/scalar/scalar.h"

namespace quire::inference::scalar {
namespace {

constexpr std::uint32_t kLanes = 16;

float add_lanes(float* lanes) {
  for (std::uint32_t width = kLanes / 2; width > 0; width /= 2) {
    for (std::uint32_t i = 0; i < width; ++i) lanes[i] += lanes[i + width];
  }
  return lanes[0];
}

float largest(const float* x, std::uint32_t count) {
  float lanes[kLanes];
  for (float& lane : lanes) lane = -std::numeric_limits<float>::infinity();
  std::uint32_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (std::uint32_t k = 0; k < kLanes; ++k) lanes[k] = x[i + k] > lanes[k] ? x[i + k] : lanes[k];
  }
  for (std::uint32_t k = 0; i + k < count; ++k) lanes[k] = std::max(lanes[k], x[i + k]);
  return *std::max_element(lanes, lanes + kLanes);
}

}  // namespace

void rms_norm(const float* x, const float* weight, float epsilon, std::uint32_t count, float* out) {
  float lanes[kLanes] = {};
  std::uint32_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (std::uint32_t k = 0; k < kLanes; ++k) lanes[k] += x[i + k] * x[i + k];
  }
  for (std::uint32_t k = 0; i + k < count; ++k) lanes[k] += x[i + k] * x[i + k];
  const float mean = add_lanes(lanes) / static_cast<float>(count);
  const float scale = 1.0f / std::sqrt(mean + epsilon);
  for (std::uint32_t k = 0; k < count; ++k) out[k] = x[k] * scale * weight[k];
}

void add(const float* x, std::uint32_t count, float* into) {
  for (std::uint32_t i = 0; i < count; ++i) into[i] += x[i];
}

void silu_multiply(const float* gate, const float* up, std::uint32_t count, float* out) {
  for (std::uint32_t i = 0; i < count; ++i) {
    out[i] = gate[i] / (1.0f + exponential(-gate[i])) * up[i];
  }
}

void rope(const float* cosine, const float* sine, std::uint32_t half, float* x) {
  for (std::uint32_t i = 0; i < half; ++i) {
    const float a = x[i];
    const float b = x[i + half];
    x[i] = a * cosine[i] - b * sine[i];
    x[i + half] = b * cosine[i] + a * sine[i];
  }
}

float softmax_numerators(float* x, std::uint32_t count, float inverse_temperature) {
  const float max = largest(x, count) * inverse_temperature;
  float lanes[kLanes] = {};
  std::uint32_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (std::uint32_t k = 0; k < kLanes; ++k) {
      x[i + k] = exponential(x[i + k] * inverse_temperature - max);
      lanes[k] += x[i + k];
    }
  }
  for (std::uint32_t k = 0; i + k < count; ++k) {
    x[i + k] = exponential(x[i + k] * inverse_temperature - max);
    lanes[k] += x[i + k];
  }
  return add_lanes(lanes);
}

}  // namespace quire::inference::scalar
