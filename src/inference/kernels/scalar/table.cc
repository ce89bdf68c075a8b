#include "inference/kernels/scalar/scalar.h"

namespace quire::inference {

const KernelTable kScalarKernels{
    .name = "scalar",
    .numerics_id = "scalar-1",
    .matmul = {.packed_bytes = scalar::packed_bytes,
               .pack_rows = scalar::pack_rows,
               .unpack_row = scalar::unpack_row,
               .activation_bytes = scalar::activation_bytes,
               .prepare = scalar::prepare,
               .multiply = scalar::matmul,
               .adapter_shrink = scalar::adapter_shrink,
               .adapter_expand = scalar::adapter_expand},
    .attention = {.store_kv = scalar::store_kv, .attend = scalar::attend},
    .elementwise = {.rms_norm = scalar::rms_norm,
                    .add = scalar::add,
                    .silu_multiply = scalar::silu_multiply,
                    .rope = scalar::rope,
                    .softmax_numerators = scalar::softmax_numerators,
                    .sum_of_powers = scalar::sum_of_powers},
    .recurrent = {.convolve = scalar::convolve,
                  .l2_norm = scalar::l2_norm,
                  .decays = scalar::decays,
                  .delta_rule = scalar::delta_rule,
                  .gated_norm = scalar::gated_norm,
                  .sigmoid_multiply = scalar::sigmoid_multiply},
};

}  // namespace quire::inference
