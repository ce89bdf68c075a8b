// Matrix products of this set. Includes intrinsics and plain data only.
#include "inference/kernels/avx2/codes.h"
#include "inference/kernels/vector_matmul.h"

namespace quire::inference::avx2 {

void matmul(const MatmulArguments& arguments) {
  multiply_any(arguments);
}

}  // namespace quire::inference::avx2
