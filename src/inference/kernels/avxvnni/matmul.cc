// Matrix products of this set. Includes intrinsics and plain data only.
#include "inference/kernels/avxvnni/codes.h"
#include "inference/kernels/vector_matmul.h"

namespace quire::inference::avxvnni {

void matmul(const MatmulArguments& arguments) {
  multiply_any(arguments);
}

}  // namespace quire::inference::avxvnni
