#pragma once
// The scalar table's functions. Each defines its operation; see kernels.h for what they promise.
#include "inference/kernels/kernels.h"

namespace quire::inference {

extern const KernelTable kScalarKernels;

namespace scalar {

std::size_t packed_bytes(NumberFormat format, std::uint32_t row_count, std::uint32_t column_count);
void pack_rows(NumberFormat format, std::uint32_t column_count, std::uint32_t row_first,
               std::uint32_t count, const std::byte* source, std::byte* packed);
void unpack_row(const PackedMatrix& matrix, std::uint32_t row, float* out);
std::size_t activation_bytes(NumberFormat format, std::uint32_t column_count);
void prepare(NumberFormat format, std::uint32_t column_count, const float* x, std::byte* out);
void matmul(const PackedMatrix& matrix, const PreparedActivations& x, std::uint32_t row_begin,
            std::uint32_t row_end, float* out, std::size_t out_stride);

void rms_norm(const float* x, const float* weight, float epsilon, std::uint32_t count, float* out);
void add(const float* x, std::uint32_t count, float* into);
void silu_multiply(const float* gate, const float* up, std::uint32_t count, float* out);
void rope(const float* cosine, const float* sine, std::uint32_t half, float* x);
float softmax_numerators(float* x, std::uint32_t count, float inverse_temperature);
double sum_of_powers(const float* numerators, std::size_t count, const PowerScale& scale);

void store_kv(KvFormat format, std::uint32_t head_dim, std::uint32_t page_size, std::uint32_t slot,
              const float* key, const float* value, std::byte* head);
void attend(const AttentionTask& task);

void adapter_shrink(NumberFormat format, const ShrinkTask& task);
void adapter_expand(NumberFormat format, const ExpandTask& task);

void convolve(const ConvolutionTask& task);
void l2_norm(float epsilon, float scale, std::uint32_t count, float* x);
void decays(const DecayTask& task);
void delta_rule(const DeltaTask& task);
void gated_norm(const float* weight, const float* gate, float epsilon, std::uint32_t count,
                float* x);
void sigmoid_multiply(const float* gate, std::uint32_t count, float* x);

}  // namespace scalar
}  // namespace quire::inference
