#pragma once
// Attention over pages, in sixteen lanes, for every instruction set. It is written in terms of
// `Lanes` and stays local to the file that includes it, as vector_math.h does.
//
// Order. Slots come in spans of 256 from slot 0, and spans in lane blocks of sixteen. A load of
// keys is one dimension of a lane block, so scores need no horizontal sums. A span gives each query
// its maximum, sum and accumulator. Exponentials are summed lane by lane and then by a fixed tree,
// visible values slot by slot. Partials are folded left to right, the first as it is. A span in
// which a query sees no slot gives it no partial, so skipping it changes no bit.
//
// Reuse. A tile of queries (rows x heads of one KV head) meets each block of keys and values once,
// and a span is finished for up to 32 rows. The operations of a query do not depend on its tile.
//
// Memory. Hardware fetches ahead only within a page. So the first tile of a span asks for memory
// half a span before its use. It asks for a line for each line that it consumes: a core stalls with
// more than some 24 lines on their way.
#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#include "inference/kernels/vector_math.h"
#include "inference/kernels/vector_spans.h"

namespace quire::inference {
namespace {

constexpr uint32_t kGroupCountMax = 16, kRowsTogether = 32;

// A query head of a row, and what has been folded for it.
struct Query {
  const float* from;
  float* out;
  const uint16_t* visible;  // [kBlocksPerSpan]
  float max, sum;
  bool started;
  const int8_t* codes;  // Of elements that have codes, as the next two.
  int32_t code_sum;
  float code_scale;
};

// How a partial enters what a query has: alone, or both by factors.
struct Folding {
  bool is_first;
  float keep, take;
};

template <typename L>
Folding fold_sum(Query& query, float top, float sum) {
  if (!query.started) {
    query.started = true;
    query.max = top;
    query.sum = sum;
    return {true, 0.0f, 1.0f};
  }
  const float max = query.max > top ? query.max : top;
  const float keep = L::first(exponential<L>(L::set(query.max - max)));
  const float take = L::first(exponential<L>(L::set(top - max)));
  query.sum = query.sum * keep + sum * take;
  query.max = max;
  return {false, keep, take};
}

template <typename L>
void fold_values(const Folding& folding, typename L::Float values, float* out) {
  if (folding.is_first) {
    L::store(out, values);
  } else {
    const auto kept = L::multiply(L::load(out), L::set(folding.keep));
    L::store(out, L::fma(values, L::set(folding.take), kept));
  }
}

// One tile of kTile queries over one span.
template <typename L, typename E, bool kOnePiece, int kTile>
class Tile {
  using Float = typename L::Float;

 public:
  // `ahead`: null if an earlier tile of the span asks for memory.
  Tile(const AttendArguments& arguments, const Span& span, Ahead* ahead, Query* const* queries)
      : a_(arguments), span_(span), ahead_(ahead), queries_(queries) {}

  void run() {
    if constexpr (!E::kHasCodes) scale_queries();
    uint32_t blocks[kBlocksPerSpan], block_count = 0;
    for (uint32_t b = 0; b < kBlocksPerSpan; ++b) {
      uint32_t any = 0;
      for (int t = 0; t < kTile; ++t) any |= queries_[t]->visible[b];
      if (any != 0) blocks[block_count++] = b;
    }
    for (auto& top : tops_) top = L::set(-__builtin_inff());
    constexpr uint32_t kTogether = L::key_blocks(kTile);
    uint32_t i = 0;
    for (; i + kTogether <= block_count; i += kTogether) score<kTogether>(blocks + i);
    for (; i < block_count; ++i) score<1>(blocks + i);
    for (int t = 0; t < kTile; ++t) weigh(t, blocks, block_count);
    add_all_values<L::value_vectors(kTile)>(blocks, block_count, 0);
  }

 private:
  void scale_queries() {
    const Float scale = L::set(a_.scale);
    for (int t = 0; t < kTile; ++t) {
      for (uint32_t d = 0; d < a_.head_dim; d += 16) {
        L::store(scaled_[t] + d, L::multiply(L::load(queries_[t]->from + d), scale));
      }
    }
  }

  // Scores of kBlocks lane blocks; -infinity where a query does not see.
  template <uint32_t kBlocks>
  void score(const uint32_t* blocks) {
    if constexpr (E::kHasCodes) {
      score_codes<kBlocks>(blocks);
    } else {
      score_floats<kBlocks>(blocks);
    }
  }

  void keep_score(int t, uint32_t block, Float score) {
    const Float seen = L::select(queries_[t]->visible[block], score, L::set(-__builtin_inff()));
    L::store(weights_[t] + block * kSlotsPerBlock, seen);
    tops_[t] = L::max(tops_[t], seen);
  }

  // Four dimensions at a time, in integers, which are exact in any order.
  template <uint32_t kBlocks>
  void score_codes(const uint32_t* blocks) {
    const size_t stride = size_t{a_.page_size} * E::kKeySlotBytes;
    typename L::Ints sums[kTile][kBlocks];
    for (int t = 0; t < kTile; ++t) {
      for (auto& sum : sums[t]) sum = L::first_sum(queries_[t]->code_sum);
    }
    for (uint32_t d = 0; d < a_.head_dim; d += 4) {
      if (ahead_ != nullptr) {
        if (kBlocks > 1 || d % 8 == 0) ahead_->template step<(kBlocks + 1) / 2>();
        if (ahead_->is_first_span) ahead_->template step<kBlocks>();
      }
      typename L::Codes keys[kBlocks];
      for (uint32_t i = 0; i < kBlocks; ++i) {
        const LaneBlock& block = span_.blocks[blocks[i]];
        const size_t at = d / 4 * stride;
        if constexpr (kOnePiece) {
          keys[i] = L::load_key_codes(block.keys_low + at, block.keys_low + at + 32);
        } else {
          keys[i] = L::load_key_codes(block.keys_low + at, block.keys_high + at);
        }
      }
      for (int t = 0; t < kTile; ++t) {
        const auto query = L::load_query_codes(queries_[t]->codes + d);
        for (uint32_t i = 0; i < kBlocks; ++i) sums[t][i] = L::dot(sums[t][i], keys[i], query);
      }
    }
    for (uint32_t i = 0; i < kBlocks; ++i) {
      const LaneBlock& block = span_.blocks[blocks[i]];
      const Float scales = L::load_f32(block.scales_low, block.scales_high);
      for (int t = 0; t < kTile; ++t) {
        const Float scale = L::multiply(scales, L::set(queries_[t]->code_scale));
        keep_score(t, blocks[i], L::multiply(L::to_floats(sums[t][i]), scale));
      }
    }
  }

  template <uint32_t kBlocks>
  void score_floats(const uint32_t* blocks) {
    const size_t stride = size_t{a_.page_size} * E::kBytes;
    const uint8_t* low[kBlocks];
    const uint8_t* high[kBlocks];
    for (uint32_t i = 0; i < kBlocks; ++i) {
      low[i] = span_.blocks[blocks[i]].keys_low;
      high[i] = span_.blocks[blocks[i]].keys_high;
    }
    Float sums[kTile][kBlocks];
    for (auto& row : sums) {
      for (auto& sum : row) sum = L::zero();
    }
    // Between two times that memory is asked for: longer bursts stall, more checks cost.
    constexpr uint32_t kDims = kBlocks >= 8 ? 1 : kBlocks >= 4 ? 2 : 4;
    for (uint32_t d = 0; d < a_.head_dim; d += kDims) {
      if (ahead_ != nullptr) {
        constexpr size_t kLines = kDims * kBlocks * kSlotsPerBlock * E::kBytes / 64;
        ahead_->template step<kLines>();
        if (ahead_->is_first_span) ahead_->template step<kLines>();
      }
      for (uint32_t k = d; k < d + kDims; ++k) {
        Float keys[kBlocks];
        for (uint32_t i = 0; i < kBlocks; ++i) {
          if constexpr (kOnePiece) {
            keys[i] = E::template load<L>(low[i] + k * stride);
          } else {
            keys[i] = E::template load<L>(low[i] + k * stride, high[i] + k * stride);
          }
        }
        for (int t = 0; t < kTile; ++t) {
          const Float query = L::set(scaled_[t][k]);
          for (uint32_t i = 0; i < kBlocks; ++i) sums[t][i] = L::fma(keys[i], query, sums[t][i]);
        }
      }
    }
    for (int t = 0; t < kTile; ++t) {
      for (uint32_t i = 0; i < kBlocks; ++i) keep_score(t, blocks[i], sums[t][i]);
    }
  }

  // Turns a query's scores into weights, and says how this span is folded into what it has.
  void weigh(int t, const uint32_t* blocks, uint32_t block_count) {
    Query& query = *queries_[t];
    uint32_t any = 0;
    for (uint32_t i = 0; i < block_count; ++i) any |= query.visible[blocks[i]];
    sees_[t] = any != 0;
    if (!sees_[t]) return;
    const float top = L::largest(tops_[t]);
    const Float largest = L::set(top);
    Float sums = L::zero();
    for (uint32_t i = 0; i < block_count; ++i) {
      float* at = weights_[t] + blocks[i] * kSlotsPerBlock;
      const Float weight = exponential<L>(L::subtract(L::load(at), largest));
      sums = L::add(sums, weight);
      if constexpr (E::kHasCodes) {  // The scales of the values, which then are codes alone.
        const LaneBlock& block = span_.blocks[blocks[i]];
        const size_t behind = a_.page_size * sizeof(float);
        const Float scales = L::load_f32(block.scales_low + behind, block.scales_high + behind);
        L::store(at, L::multiply(weight, scales));
      } else {
        L::store(at, weight);
      }
    }
    const float sum = L::sum(sums);
    folding_[t] = fold_sum<L>(query, top, sum);
  }

  // All dimensions from `dim` on, as many vectors at once as registers hold, then halves of that.
  template <uint32_t kVectors>
  void add_all_values(const uint32_t* blocks, uint32_t block_count, uint32_t dim) {
    for (; dim + 16 * kVectors <= a_.head_dim; dim += 16 * kVectors) {
      add_values<kVectors>(blocks, block_count, dim);
    }
    if constexpr (kVectors > 1) {
      if (dim < a_.head_dim) add_all_values<kVectors / 2>(blocks, block_count, dim);
    }
  }

  // Dimensions [dim, dim + 16 * kVectors) of the span's accumulators, folded into the output.
  template <uint32_t kVectors>
  void add_values(const uint32_t* blocks, uint32_t block_count, uint32_t dim) {
    Float sums[kTile][kVectors];
    for (auto& row : sums) {
      for (auto& sum : row) sum = L::zero();
    }
    const size_t stride = size_t{a_.head_dim} * E::kBytes;
    // Scores of codes take a quarter of the time of their values, so half the lines of the keys and
    // those of the scales are asked for here.
    constexpr uint32_t kValueLines = 8 * kVectors * 16 * E::kBytes / 64;
    constexpr uint32_t kLines = E::kHasCodes ? kValueLines * 3 / 2 + 1 : kValueLines;
    for (uint32_t i = 0; i < block_count; ++i) {
      const uint32_t b = blocks[i];
      uint32_t all = 0xffff, some = 0;
      for (int t = 0; t < kTile; ++t) {
        all &= queries_[t]->visible[b];
        some |= queries_[t]->visible[b];
      }
      for (uint32_t half = 0; half < 2; ++half, all >>= 8, some >>= 8) {
        const LaneBlock& block = span_.blocks[b];
        const uint8_t* from = (half ? block.values_high : block.values_low) + dim * E::kBytes;
        const uint32_t slot = b * kSlotsPerBlock + half * 8;
        if (ahead_ != nullptr) ahead_->template step<kLines>();
        if ((all & 0xff) == 0xff) {
          for (uint32_t s = 0; s < 8; ++s) add_slot<kVectors>(from + s * stride, slot + s, sums);
        } else {
          for (uint32_t s = 0; s < 8; ++s) {
            if (((some >> s) & 1) == 0) continue;
            add_slot_where_seen<kVectors>(from + s * stride, b, half * 8 + s, sums);
          }
        }
      }
    }
    fold<kVectors>(dim, sums);
  }

  template <uint32_t kVectors>
  void add_slot(const uint8_t* from, uint32_t slot, Float (&sums)[kTile][kVectors]) {
    Float values[kVectors];
    for (uint32_t c = 0; c < kVectors; ++c) {
      values[c] = E::template load<L>(from + c * 16 * E::kBytes);
    }
    for (int t = 0; t < kTile; ++t) {
      const Float weight = L::set(weights_[t][slot]);
      for (uint32_t c = 0; c < kVectors; ++c) sums[t][c] = L::fma(values[c], weight, sums[t][c]);
    }
  }

  template <uint32_t kVectors>
  void add_slot_where_seen(const uint8_t* from, uint32_t block, uint32_t lane,
                           Float (&sums)[kTile][kVectors]) {
    Float values[kVectors];
    for (uint32_t c = 0; c < kVectors; ++c) {
      values[c] = E::template load<L>(from + c * 16 * E::kBytes);
    }
    for (int t = 0; t < kTile; ++t) {
      if (((queries_[t]->visible[block] >> lane) & 1) == 0) continue;
      const Float weight = L::set(weights_[t][block * kSlotsPerBlock + lane]);
      for (uint32_t c = 0; c < kVectors; ++c) sums[t][c] = L::fma(values[c], weight, sums[t][c]);
    }
  }

  template <uint32_t kVectors>
  void fold(uint32_t dim, const Float (&sums)[kTile][kVectors]) {
    for (int t = 0; t < kTile; ++t) {
      if (!sees_[t]) continue;
      for (uint32_t c = 0; c < kVectors; ++c) {
        fold_values<L>(folding_[t], sums[t][c], queries_[t]->out + dim + c * 16);
      }
    }
  }

  const AttendArguments& a_;
  const Span& span_;
  Ahead* ahead_;
  Query* const* queries_;
  Float tops_[kTile];
  bool sees_[kTile];
  Folding folding_[kTile];
  alignas(64) float scaled_[kTile][kHeadDimMax];
  alignas(64) float weights_[kTile][kSlotsPerSpan];
};

// The largest tiles first; kTile counts down to one.
template <typename L, typename E, bool kOnePiece, int kTile>
void tiles(const AttendArguments& a, const Span& span, Ahead* ahead, Query* const* queries,
           uint32_t count) {
  for (; count >= kTile; count -= kTile, queries += kTile, ahead = nullptr) {
    Tile<L, E, kOnePiece, kTile>(a, span, ahead, queries).run();
  }
  if constexpr (kTile > 1) {
    if (count > 0) tiles<L, E, kOnePiece, kTile - 1>(a, span, ahead, queries, count);
  }
}

template <typename L>
void finish(const Query& query, uint32_t head_dim) {
  for (uint32_t d = 0; d < head_dim; d += 16) {
    const auto value =
        query.started ? L::divide(L::load(query.out + d), L::set(query.sum)) : L::zero();
    L::store(query.out + d, value);
  }
}

// The rows of a task that meet its spans together, and where their results go.
template <typename L, typename E, bool kOnePiece>
class TogetherRows {
 public:
  TogetherRows(const AttendArguments& a, size_t row_first, uint32_t row_count)
      : a_(a), row_first_(row_first), row_count_(row_count) {
    for (uint32_t row = 0; row < row_count_; ++row) {
      const size_t at = a.row_of == nullptr ? row_first + row : a.row_of[row_first + row];
      for (uint32_t group = 0; group < a.group_count; ++group) {
        const size_t offset = size_t{group} * a.head_dim;
        query(row, group) = {a.query + at * a.query_stride + offset,
                             a.out + at * a.out_stride + offset,
                             visible_[row],
                             0.0f,
                             0.0f,
                             false,
                             nullptr,
                             0,
                             0.0f};
      }
    }
    if constexpr (E::kHasCodes) make_codes();
    if (a.partials.use == PartialUse::WriteOne) turn_to_partials(0);
    if (a.partials.use == PartialUse::Read) read_partials();
  }

  void run() {
    const bool writes_each = a_.partials.use == PartialUse::WriteEach;
    Ahead ahead(a_, (size_t{2} * a_.head_dim * E::kBytes + E::kScaleBytes) * a_.page_size);
    for (uint32_t index = 0; index < a_.span_count; ++index) {
      const uint32_t first_slot = a_.spans[index] * kSlotsPerSpan;
      if (writes_each) turn_to_partials(index);
      if (first_slot < a_.visible_slot_end) add_span(first_slot, ahead);
      if (writes_each) close_partials();
    }
    if (a_.partials.use == PartialUse::WriteOne) close_partials();
    if (a_.partials.use == PartialUse::None || a_.partials.use == PartialUse::Read) finish_all();
  }

 private:
  Query& query(uint32_t row, uint32_t group) { return queries_[row * a_.group_count + group]; }
  uint32_t query_count() const { return row_count_ * a_.group_count; }

  float* partial(uint32_t row, uint32_t group, uint32_t index) const {
    const size_t at = size_t{a_.rows[row_first_ + row].partial_first} + index;
    return a_.partials.at + at * a_.partials.stride + group * (a_.head_dim + kPartialTail);
  }

  // The queries in 8 bits, as scalar/kv_quantised.h defines it.
  void make_codes() {
    const float scale = a_.scale / static_cast<float>(hadamard_size(a_.head_dim));
    for (uint32_t i = 0; i < query_count(); ++i) {
      Query& query = queries_[i];
      float turned[kHeadDimMax] = {};
      for (uint32_t d = 0; d < a_.head_dim; ++d) turned[d] = query.from[d] * scale;
      turn(a_.head_dim, turned);
      int8_t* codes = codes_ + i * kHeadDimMax;
      query.codes = codes;
      query.code_scale = quantise_row<L>(a_.head_dim, turned, codes, &query.code_sum);
    }
  }

  // Folds from now on go to the task's partial `index`.
  void turn_to_partials(uint32_t index) {
    for (uint32_t row = 0; row < row_count_; ++row) {
      for (uint32_t group = 0; group < a_.group_count; ++group) {
        query(row, group).out = partial(row, group, a_.partials.offset + index);
        query(row, group).started = false;
      }
    }
  }

  void close_partials() {
    for (uint32_t i = 0; i < query_count(); ++i) {
      float* numbers = queries_[i].out + a_.head_dim;
      numbers[0] = queries_[i].max;
      numbers[1] = queries_[i].started ? queries_[i].sum : 0.0f;
    }
  }

  void read_partials() {
    for (uint32_t row = 0; row < row_count_; ++row) {
      for (uint32_t group = 0; group < a_.group_count; ++group) {
        for (uint32_t i = 0; i < a_.rows[row_first_ + row].partial_count; ++i) {
          fold_partial(query(row, group), partial(row, group, i));
        }
      }
    }
  }

  void fold_partial(Query& query, const float* partial) {
    const float top = partial[a_.head_dim], sum = partial[a_.head_dim + 1];
    if (sum == 0.0f) return;
    const Folding folding = fold_sum<L>(query, top, sum);
    for (uint32_t d = 0; d < a_.head_dim; d += 16) {
      fold_values<L>(folding, L::load(partial + d), query.out + d);
    }
  }

  void add_span(uint32_t first_slot, Ahead& ahead) {
    Span span;
    view_span<E>(a_, first_slot, span);
    if (span.any_visible == 0) return;
    Query* seeing[kRowsTogether * kGroupCountMax];
    uint32_t count = 0;
    for (uint32_t row = 0; row < row_count_; ++row) {
      if (!row_visibility<L>(a_, a_.rows[row_first_ + row], span, visible_[row])) continue;
      for (uint32_t group = 0; group < a_.group_count; ++group) {
        seeing[count++] = &query(row, group);
      }
    }
    constexpr int kTileMax = E::kHasCodes ? L::kCodesTileMax : L::kTileMax;
    tiles<L, E, kOnePiece, kTileMax>(a_, span, &ahead, seeing, count);
    ahead.is_first_span = false;
  }

  void finish_all() {
    for (uint32_t i = 0; i < query_count(); ++i) finish<L>(queries_[i], a_.head_dim);
  }

  const AttendArguments& a_;
  const size_t row_first_;
  const uint32_t row_count_;
  Query queries_[kRowsTogether * kGroupCountMax];
  int8_t codes_[E::kHasCodes ? kRowsTogether * kGroupCountMax * kHeadDimMax : 1];
  uint16_t visible_[kRowsTogether][kBlocksPerSpan];
};

template <typename L, typename E>
void attend_element(const AttendArguments& a) {
  for (size_t row = 0; row < a.row_count; row += kRowsTogether) {
    const size_t left = a.row_count - row;
    const auto count = static_cast<uint32_t>(left < kRowsTogether ? left : kRowsTogether);
    if (a.page_size == 8) {
      TogetherRows<L, E, false>(a, row, count).run();
    } else {
      TogetherRows<L, E, true>(a, row, count).run();
    }
  }
}

template <typename L>
void attend(const AttendArguments& a) {
  switch (a.element) {
    case VectorElement::F32:
      return attend_element<L, F32Element>(a);
    case VectorElement::F16:
      return attend_element<L, F16Element>(a);
    case VectorElement::BF16:
      return attend_element<L, BF16Element>(a);
    case VectorElement::Q8:
      return attend_element<L, Q8Element>(a);
  }
}

}  // namespace
}  // namespace quire::inference
