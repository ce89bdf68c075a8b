#pragma once
// The tables of the vector instruction sets. dispatch.cc offers those that the machine can run.
#include "inference/kernels/kernels.h"

namespace quire::inference {

extern const KernelTable kAvx2Kernels;
extern const KernelTable kAvxVnniKernels;
extern const KernelTable kAvx512Kernels;

// Whether this machine has what the table needs, asked of the processor at run time.
bool machine_has_avx2();
bool machine_has_avxvnni();
bool machine_has_avx512();

}  // namespace quire::inference
