#pragma once
// The vector tables that this machine can run, for tests that go through each of them.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "inference/kernels/vector_tables.h"

namespace quire::inference {

inline std::vector<const KernelTable*> vector_tables_to_test() {
  std::vector<const KernelTable*> tables;
  if (machine_has_avx2()) tables.push_back(&kAvx2Kernels);
  if (machine_has_avxvnni()) tables.push_back(&kAvxVnniKernels);
  if (machine_has_avx512()) tables.push_back(&kAvx512Kernels);
  return tables;
}

inline std::string table_name(const testing::TestParamInfo<const KernelTable*>& parameter) {
  return parameter.param->name;
}

}  // namespace quire::inference
