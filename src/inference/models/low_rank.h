#pragma once
// LowRankInput, shrink() and expand() add adapters to a forward pass: y + s * B (A x), where y is
// the product with the base's matrices.
//
// Each input of a layer takes two steps. First shrink() makes t = s * A x for all rows that an
// adapter acts on, as a phase of its own. Then expand() adds B t inside of the tiles that make y,
// and so needs no further barrier. Adapters follow one another by digest, which is the order of every set: a
// row's sum does not depend on the sets of other rows. A plan without adapters never comes here.
//
// Thread   shrink() by every worker of a job; expand() by the worker that has the tile.
#include <cstdint>
#include <span>

#include "inference/models/forward_plan.h"
#include "inference/models/worker_pool.h"

namespace quire::inference {

// The projections of one input, of rows [row_first, row_first + row_count) of a plan.
struct LowRankInput {
  std::uint32_t layer = 0;
  std::span<const Projection> projections;  // At most kLowRankInputMax.
  std::uint32_t row_first = 0;
  std::uint32_t row_count = 0;
};

// Row row_first + i of the plan is at x + i * x_stride.
void shrink(Worker& worker, const MatmulKernels& kernels, const ForwardPlan& plan,
            const LowRankInput& input, const float* x, std::size_t x_stride);

// The output of a tile of the product with the base's matrix.
struct LowRankTile {
  std::uint32_t projection = 0;  // Index into LowRankInput::projections.
  std::uint32_t output_begin = 0;
  std::uint32_t output_end = 0;
  std::uint32_t row_first = 0;  // Of the plan.
  std::uint32_t row_count = 0;
  float* y = nullptr;  // Output 0 of row row_first.
  std::size_t y_stride = 0;
};
void expand(const MatmulKernels& kernels, const ForwardPlan& plan, const LowRankInput& input,
            const LowRankTile& tile);

// x += what the adapters of the row make of its token: [embedding_width].
void embed_low_rank(const MatmulKernels& kernels, const ForwardPlan& plan, std::uint32_t row,
                    float* x);

}  // namespace quire::inference
