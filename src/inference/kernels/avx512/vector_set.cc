// The AVX-512 functions, as one table. Includes intrinsics and plain data only.
#include "inference/kernels/vector_set.h"

#include "inference/kernels/avx512/lanes.h"
#include "inference/kernels/vector_adapter.h"
#include "inference/kernels/vector_attention.h"
#include "inference/kernels/vector_math.h"
#include "inference/kernels/vector_recurrent.h"

namespace quire::inference::avx512 {

extern const VectorSet kVectorSet;
const VectorSet kVectorSet{
    .attend = inference::attend<Lanes>,
    .adapter_shrink = inference::adapter_shrink<Lanes>,
    .adapter_expand = inference::adapter_expand<Lanes>,
    .quantise = quantise<Lanes>,
    .rms_norm = rms_norm<Lanes>,
    .add = add<Lanes>,
    .silu_multiply = silu_multiply<Lanes>,
    .rope = rope<Lanes>,
    .store_kv = store_kv<Lanes>,
    .softmax_numerators = softmax_numerators<Lanes>,
    .sum_of_powers = sum_of_powers<Lanes>,
    .recurrent = {.convolve = convolve<Lanes>,
                  .l2_norm = l2_norm<Lanes>,
                  .decays = decays<Lanes>,
                  .delta_rule = delta_rule<Columns>,
                  .gated_norm = gated_norm<Lanes>,
                  .sigmoid_multiply = sigmoid_multiply<Lanes>},
};

}  // namespace quire::inference::avx512
