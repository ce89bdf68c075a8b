#pragma once
// Products with the low-rank matrices of adapters, in sixteen lanes, for every instruction set. As
// vector_math.h, this is written in terms of `Lanes` and stays local to the file that includes it.
//
// Order. Shrink: the sixteen lanes of a row of A add its columns in order by fma. The fixed tree of
// Lanes::sum and the row's scale follow. Expand: fma over the rank in order from zero, and one
// addition to y. Neither depends on which rows are together in a call. scalar/adapter.cc defines
// both, with the same bits.
//
// Bytes. A call has all rows of an adapter and reads each byte of A and B once; these are a few per
// cent of the base's weights. One row alone is bound by memory, so four rows of A, or four groups
// of outputs, are under way at once. With several rows, tiles of 2 x 3 and 1 x 4 share each load
// and each conversion of 16-bit numbers. Sums fit the sixteen registers of AVX2.
#include <stddef.h>
#include <stdint.h>

#include "inference/kernels/vector_set.h"

namespace quire::inference {
namespace {

template <typename L, VectorElement kElement>
typename L::Float load_numbers(const void* from, size_t index) {
  if constexpr (kElement == VectorElement::F32) {
    return L::load(static_cast<const float*>(from) + index);
  } else if constexpr (kElement == VectorElement::F16) {
    return L::load_f16(static_cast<const uint16_t*>(from) + index);
  } else {
    return L::load_bf16(static_cast<const uint16_t*>(from) + index);
  }
}

// kRanks rows of A from `rank` on with kRows rows of x from `first` on.
template <typename L, VectorElement kElement, uint32_t kRanks, uint32_t kRows>
void shrink_tile(const ShrinkTask& task, uint32_t rank, uint32_t first) {
  const float* x[kRows];
  for (uint32_t k = 0; k < kRows; ++k) {
    x[k] = task.x + (task.rows[first + k] - task.row_first) * task.x_stride;
  }
  typename L::Float sum[kRanks][kRows];
  for (auto& of_rank : sum) {
    for (auto& each : of_rank) each = L::zero();
  }
  const uint32_t whole = task.column_count / 16 * 16, rest = task.column_count - whole;
  for (uint32_t i = 0; i < whole; i += 16) {
    for (uint32_t r = 0; r < kRanks; ++r) {
      const auto a = load_numbers<L, kElement>(task.a, (rank + r) * task.a_stride + i);
      for (uint32_t k = 0; k < kRows; ++k) sum[r][k] = L::fma(a, L::load(x[k] + i), sum[r][k]);
    }
  }
  for (uint32_t r = 0; r < kRanks; ++r) {
    for (uint32_t k = 0; k < kRows; ++k) {
      if (rest != 0) {
        const auto a = load_numbers<L, kElement>(task.a, (rank + r) * task.a_stride + whole);
        sum[r][k] = L::fma(a, L::load_first(x[k] + whole, rest), sum[r][k]);
      }
      task.out[(first + k) * task.out_stride + rank + r] =
          L::sum(sum[r][k]) * (task.scales[first + k] * task.scale);
    }
  }
}

template <typename L, VectorElement kElement, uint32_t kRanks, uint32_t kRows>
uint32_t shrink_rows_from(const ShrinkTask& task, uint32_t first) {
  for (; first + kRows <= task.row_count; first += kRows) {
    uint32_t rank = task.rank_begin;
    for (; rank + kRanks <= task.rank_end; rank += kRanks) {
      shrink_tile<L, kElement, kRanks, kRows>(task, rank, first);
    }
    for (; rank < task.rank_end; ++rank) shrink_tile<L, kElement, 1, kRows>(task, rank, first);
  }
  return first;
}

template <typename L, VectorElement kElement>
void shrink_numbers(const ShrinkTask& task) {
  const uint32_t first = shrink_rows_from<L, kElement, 2, 3>(task, 0);
  shrink_rows_from<L, kElement, 4, 1>(task, first);
}

template <typename L>
void adapter_shrink(VectorElement element, const ShrinkTask& task) {
  switch (element) {
    case VectorElement::F32:
      return shrink_numbers<L, VectorElement::F32>(task);
    case VectorElement::F16:
      return shrink_numbers<L, VectorElement::F16>(task);
    case VectorElement::BF16:
      return shrink_numbers<L, VectorElement::BF16>(task);
    case VectorElement::Q8:  // No adapter has such numbers.
      return;
  }
}

// kGroups groups of sixteen outputs from `group` on, for kRows rows from `first` on. The last group
// may have fewer than sixteen outputs that are wanted.
template <typename L, VectorElement kElement, uint32_t kGroups, uint32_t kRows>
void expand_tile(const ExpandTask& task, uint32_t group, uint32_t first) {
  typename L::Float sum[kGroups][kRows];
  for (auto& of_group : sum) {
    for (auto& each : of_group) each = L::zero();
  }
  const float* t = task.t + first * task.t_stride;
  for (uint32_t c = 0; c < task.rank; ++c) {
    for (uint32_t g = 0; g < kGroups; ++g) {
      const size_t at = (size_t{group + g} * task.rank + c) * 16;
      const auto b = load_numbers<L, kElement>(task.b, at);
      for (uint32_t k = 0; k < kRows; ++k) {
        sum[g][k] = L::fma(b, L::set(t[k * task.t_stride + c]), sum[g][k]);
      }
    }
  }
  for (uint32_t g = 0; g < kGroups; ++g) {
    const uint32_t output = (group + g) * 16;
    const uint32_t left = task.output_end - output;
    for (uint32_t k = 0; k < kRows; ++k) {
      float* y = task.y + (task.rows[first + k] - task.row_first) * task.y_stride + output;
      if (left >= 16) {
        L::store(y, L::add(L::load(y), sum[g][k]));
      } else {
        L::store_first(y, left, L::add(L::load_first(y, left), sum[g][k]));
      }
    }
  }
}

template <typename L, VectorElement kElement>
void expand_numbers(const ExpandTask& task) {
  const uint32_t begin = task.output_begin / 16, end = (task.output_end + 15) / 16;
  uint32_t first = 0;
  for (; first + 4 <= task.row_count; first += 4) {
    for (uint32_t g = begin; g < end; ++g) expand_tile<L, kElement, 1, 4>(task, g, first);
  }
  for (; first < task.row_count; ++first) {
    uint32_t g = begin;
    for (; g + 4 <= end; g += 4) expand_tile<L, kElement, 4, 1>(task, g, first);
    for (; g < end; ++g) expand_tile<L, kElement, 1, 1>(task, g, first);
  }
}

template <typename L>
void adapter_expand(VectorElement element, const ExpandTask& task) {
  switch (element) {
    case VectorElement::F32:
      return expand_numbers<L, VectorElement::F32>(task);
    case VectorElement::F16:
      return expand_numbers<L, VectorElement::F16>(task);
    case VectorElement::BF16:
      return expand_numbers<L, VectorElement::BF16>(task);
    case VectorElement::Q8:
      return;
  }
}

}  // namespace
}  // namespace quire::inference
