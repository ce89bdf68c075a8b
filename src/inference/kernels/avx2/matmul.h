#pragma once
#include "inference/kernels/vector_set.h"

namespace quire::inference::avx2 {

void matmul(const MatmulArguments& arguments);

}  // namespace quire::inference::avx2
