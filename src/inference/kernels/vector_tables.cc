#include "inference/kernels/vector_tables.h"

#include <cstring>

#include "base/check.h"
#include "inference/kernels/packing.h"
#include "inference/kernels/vector_set.h"

namespace quire::inference {
namespace {

VectorElement element_of(KvFormat format) {
  switch (format) {
    case KvFormat::F32:
      return VectorElement::F32;
    case KvFormat::F16:
      return VectorElement::F16;
    case KvFormat::BF16:
      return VectorElement::BF16;
    case KvFormat::Q8:
      return VectorElement::Q8;
  }
  QUIRE_CHECK(false, "a KV format that no kernel knows");
}

VectorElement element_of(NumberFormat format) {
  QUIRE_CHECK(!is_quantised(format), "an adapter's numbers are F32, F16 or BF16");
  if (format == NumberFormat::F32) return VectorElement::F32;
  return format == NumberFormat::F16 ? VectorElement::F16 : VectorElement::BF16;
}

// Functions of the tables over those of one instruction set.
template <const VectorSet& kSet, auto kMatmul>
struct Adapter {
  static void prepare(NumberFormat format, std::uint32_t column_count, const float* x,
                      std::byte* out) {
    if (is_quantised(format)) {
      kSet.quantise(column_count, x, reinterpret_cast<ActivationBlock*>(out));
    } else {
      std::memcpy(out, x, std::size_t{column_count} * sizeof(float));
    }
  }

  static void matmul(const PackedMatrix& matrix, const PreparedActivations& x,
                     std::uint32_t row_begin, std::uint32_t row_end, float* out,
                     std::size_t out_stride) {
    QUIRE_CHECK(row_begin % kRowGroup == 0, "rows are split at whole groups");
    QUIRE_CHECK(row_end <= matrix.row_count, "rows exist");
    QUIRE_CHECK(row_end % kRowGroup == 0 || row_end == matrix.row_count, "whole groups or the end");
    if (row_begin >= row_end || x.token_count == 0) return;
    const std::size_t group_bytes = packed_group_bytes(matrix.format, matrix.column_count);
    kMatmul({.kind = packed_kind(matrix.format),
             .weights = matrix.bytes + row_begin / kRowGroup * group_bytes,
             .group_bytes = group_bytes,
             .column_count = matrix.column_count,
             .row_count = row_end - row_begin,
             .activations = x.bytes,
             .activation_stride = x.stride_bytes,
             .token_count = x.token_count,
             .out = out + row_begin,
             .out_stride = out_stride});
  }

  static void attend(const AttentionTask& task) {
    QUIRE_CHECK(task.page_size == 8 || task.page_size == 16 || task.page_size == 32, "page size");
    QUIRE_CHECK(task.head_dim % 16 == 0 && task.head_dim <= 256, "head_dim");
    QUIRE_CHECK(task.group_count >= 1 && task.group_count <= 16, "group_count");
    kSet.attend({.pages = task.pages.data(),
                 .page_count = task.pages.size(),
                 .spans = task.spans.data(),
                 .span_count = task.spans.size(),
                 .page_size = task.page_size,
                 .visible_slot_end = task.visible_slot_end,
                 .head_offset = task.head_offset,
                 .element = element_of(task.kv_format),
                 .head_dim = task.head_dim,
                 .group_count = task.group_count,
                 .scale = task.scale,
                 .rows = task.rows.data(),
                 .row_count = task.rows.size(),
                 .mask_slot_count = task.mask_slot_count,
                 .query = task.query,
                 .query_stride = task.query_stride,
                 .out = task.out,
                 .out_stride = task.out_stride,
                 .row_of = task.row_of,
                 .partials = task.partials});
  }

  static void store_kv(KvFormat format, std::uint32_t head_dim, std::uint32_t page_size,
                       std::uint32_t slot, const float* key, const float* value, std::byte* head) {
    kSet.store_kv(element_of(format), head_dim, page_size, slot, key, value, head);
  }
};

template <const VectorSet& kSet, auto kMatmul>
constexpr MatmulKernels matmul_of() {
  using Functions = Adapter<kSet, kMatmul>;
  return {.packed_bytes = vector_packed_bytes,
          .pack_rows = vector_pack_rows,
          .unpack_row = vector_unpack_row,
          .activation_bytes = vector_activation_bytes,
          .prepare = Functions::prepare,
          .multiply = Functions::matmul,
          .adapter_shrink =
              [](NumberFormat format, const ShrinkTask& task) {
                kSet.adapter_shrink(element_of(format), task);
              },
          .adapter_expand =
              [](NumberFormat format, const ExpandTask& task) {
                kSet.adapter_expand(element_of(format), task);
              }};
}

template <const VectorSet& kSet>
constexpr ElementwiseKernels elementwise_of() {
  return {.rms_norm = [](const float* x, const float* weight, float epsilon, std::uint32_t count,
                         float* out) { kSet.rms_norm(x, weight, epsilon, count, out); },
          .add = [](const float* x, std::uint32_t count, float* into) { kSet.add(x, count, into); },
          .silu_multiply = [](const float* gate, const float* up, std::uint32_t count,
                              float* out) { kSet.silu_multiply(gate, up, count, out); },
          .rope = [](const float* cosine, const float* sine, std::uint32_t half,
                     float* x) { kSet.rope(cosine, sine, half, x); },
          .softmax_numerators =
              [](float* x, std::uint32_t count, float inverse_temperature) {
                return kSet.softmax_numerators(x, count, inverse_temperature);
              },
          .sum_of_powers =
              [](const float* numerators, std::size_t count, const PowerScale& scale) {
                return kSet.sum_of_powers(numerators, count, scale);
              }};
}

template <const VectorSet& kSet>
constexpr RecurrentKernels recurrent_of() {
  return {
      .convolve = [](const ConvolutionTask& task) { kSet.recurrent.convolve(task); },
      .l2_norm = [](float epsilon, float scale, std::uint32_t count,
                    float* x) { kSet.recurrent.l2_norm(epsilon, scale, count, x); },
      .decays = [](const DecayTask& task) { kSet.recurrent.decays(task); },
      .delta_rule =
          [](const DeltaTask& task) {
            QUIRE_CHECK(task.key_dim <= kKeyDimMax, "keys fit a tile");
            QUIRE_CHECK(task.column_count <= kDeltaColumns, "columns fit a tile");
            kSet.recurrent.delta_rule(task);
          },
      .gated_norm = [](const float* weight, const float* gate, float epsilon, std::uint32_t count,
                       float* x) { kSet.recurrent.gated_norm(weight, gate, epsilon, count, x); },
      .sigmoid_multiply = [](const float* gate, std::uint32_t count,
                             float* x) { kSet.recurrent.sigmoid_multiply(gate, count, x); }};
}

template <const VectorSet& kSet, auto kMatmul>
constexpr KernelTable table_of(const char* name, const char* numerics_id) {
  using Functions = Adapter<kSet, kMatmul>;
  return {.name = name,
          .numerics_id = numerics_id,
          .matmul = matmul_of<kSet, kMatmul>(),
          .attention = {.store_kv = Functions::store_kv, .attend = Functions::attend},
          .elementwise = elementwise_of<kSet>(),
          .recurrent = recurrent_of<kSet>()};
}

}  // namespace

constexpr KernelTable kAvx2Kernels = table_of<avx2::kVectorSet, avx2::matmul>("avx2", "avx2-2");
constexpr KernelTable kAvxVnniKernels =
    table_of<avx2::kVectorSet, avxvnni::matmul>("avxvnni", "avxvnni-2");
constexpr KernelTable kAvx512Kernels =
    table_of<avx512::kVectorSet, avx512::matmul>("avx512", "avx512-2");

bool machine_has_avx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("f16c");
}

bool machine_has_avxvnni() {
  return machine_has_avx2() && __builtin_cpu_supports("avxvnni");
}

bool machine_has_avx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("f16c");
}

}  // namespace quire::inference
