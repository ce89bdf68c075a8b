// Products with the low-rank matrices of adapters, by the fused operations of vector_adapter.h in
// the same order. So every table has the same bits. std::fma rounds once whether the machine has
// the operation or not.
#include <cmath>

#include "inference/api/plain_number.h"
#include "inference/kernels/scalar/scalar.h"

namespace quire::inference::scalar {
namespace {

constexpr std::uint32_t kAdapterLanes = 16;

}  // namespace

void adapter_shrink(NumberFormat format, const ShrinkTask& task) {
  for (std::uint32_t k = 0; k < task.row_count; ++k) {
    const float* x = task.x + (task.rows[k] - task.row_first) * task.x_stride;
    for (std::uint32_t rank = task.rank_begin; rank < task.rank_end; ++rank) {
      float lanes[kAdapterLanes] = {};
      for (std::uint32_t i = 0; i < task.a_stride; ++i) {
        const float value = i < task.column_count ? x[i] : 0.0f;
        float& lane = lanes[i % kAdapterLanes];
        lane = std::fma(plain_number(format, task.a, rank * task.a_stride + i), value, lane);
      }
      for (std::uint32_t width = kAdapterLanes / 2; width > 0; width /= 2) {
        for (std::uint32_t i = 0; i < width; ++i) lanes[i] += lanes[i + width];
      }
      task.out[k * task.out_stride + rank] = lanes[0] * (task.scales[k] * task.scale);
    }
  }
}

void adapter_expand(NumberFormat format, const ExpandTask& task) {
  for (std::uint32_t k = 0; k < task.row_count; ++k) {
    const float* t = task.t + k * task.t_stride;
    float* y = task.y + (task.rows[k] - task.row_first) * task.y_stride;
    for (std::uint32_t output = task.output_begin; output < task.output_end; ++output) {
      const std::size_t group = output / kAdapterLanes * task.rank;
      float sum = 0.0f;
      for (std::uint32_t c = 0; c < task.rank; ++c) {
        const std::size_t at = (group + c) * kAdapterLanes + output % kAdapterLanes;
        sum = std::fma(plain_number(format, task.b, at), t[c], sum);
      }
      y[output] += sum;
    }
  }
}

}  // namespace quire::inference::scalar
