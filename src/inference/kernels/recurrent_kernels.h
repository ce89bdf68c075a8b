#pragma once
// Operations of layers that have a state (the gated delta rule), and of gated attention. `scalar`
// and all other tables give the same bits.
//
// Plain data: instruction-set files include this header.
//
// Order. Sums over a head run in sixteen lanes by fma, and then by the tree of Lanes::sum. A sum
// over the keys of a state has kDeltaSums parts, number i in part i % kDeltaSums, each by fma from
// zero in order; parts are added as (0 + 1) + (2 + 3). So a row's bits do not depend on the rows
// that share its call.
//
// Thread   any; functions keep no state. Memory is the caller's.
#include <cstddef>
#include <cstdint>

namespace quire::inference {

inline constexpr std::uint32_t kDeltaColumns = 16;  // Of a tile of a state.
inline constexpr std::uint32_t kDeltaSums = 4;
inline constexpr std::uint32_t kKeyDimMax = 256;
inline constexpr std::uint32_t kConvolutionWidthMax = 8;

// out[i] = silu(sum over j of weights[j][c] * rows[j][c]), by fma from zero, j rising, of channel
// c = channel_first + i.
struct ConvolutionTask {
  const float* const* rows;  // [width], the oldest first. Null: a row of zeros.
  std::uint32_t width;
  const float* weights;       // [width][weight_stride]
  std::size_t weight_stride;  // In floats.
  std::uint32_t channel_first;
  std::uint32_t channel_count;
  float* out;  // [channel_count]
};

// decay[h] = exp(scale[h] * softplus(decay[h] + bias[h])), beta[h] = sigmoid(beta[h]).
struct DecayTask {
  const float* bias;
  const float* scale;
  std::uint32_t head_count;
  float* decay;
  float* beta;
};

// The state after the first row_count rows of a pass is stored at `to`.
struct StateTarget {
  std::uint32_t row_count = 0;
  std::byte* to = nullptr;
};

// The delta rule over one tile of a state, for the rows of a pass in order. A tile S
// [key_dim][kDeltaColumns] has kDeltaColumns value columns of a head. Each row changes it so:
//
//   d = beta * (v - decay * S^T k);  S = decay * S + k d^T;  out = S^T q
//
// S begins as the tile at `from`, zeros if that is null, and is stored at the targets. A target may
// be `from` if the pass has one row. A row's strides are in floats.
struct DeltaTask {
  const std::byte* from;  // As the targets', the address of a state.
  const StateTarget* targets;
  std::uint32_t target_count;  // By rising row_count.
  std::size_t tile_offset;     // Bytes from a state's begin to the tile.
  std::uint32_t key_dim;       // At most kKeyDimMax.
  std::uint32_t column_count;  // Of `value` and `out`; the other columns of the tile are zeros.
  std::uint32_t row_count;
  const float* query;
  const float* key;
  std::size_t key_stride;  // Of both.
  const float* value;
  std::size_t value_stride;
  const float* decay;
  const float* beta;
  std::size_t gate_stride;  // Of decay and beta.
  float* out;
  std::size_t out_stride;
};

struct RecurrentKernels {
  void (*convolve)(const ConvolutionTask& task);
  // In place: x = x * (scale / sqrt(sum(x^2) + epsilon)).
  void (*l2_norm)(float epsilon, float scale, std::uint32_t count, float* x);
  void (*decays)(const DecayTask& task);
  void (*delta_rule)(const DeltaTask& task);
  // In place: x = x / sqrt(mean(x^2) + epsilon) * weight * silu(gate).
  void (*gated_norm)(const float* weight, const float* gate, float epsilon, std::uint32_t count,
                     float* x);
  void (*sigmoid_multiply)(const float* gate, std::uint32_t count, float* x);  // x *= sigmoid(gate)
};

}  // namespace quire::inference
