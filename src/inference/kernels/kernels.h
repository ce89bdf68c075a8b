#pragma once
// The arithmetic that models need, as a table of functions for each instruction set.
//
// `scalar` defines every operation in F32 (weights decoded exactly, activations F32). The others
// use 8-bit activations where weights are quantised (integer dot products), and F32 elsewhere.
// scalar/quantised.h defines those 8-bit operations in plain C++, and the tables match it exactly.
//
// Batch invariance. Each output number is computed in one fixed order of operations, whatever else
// is in the call. It does not matter how rows and tokens are split over calls. Matrices are split
// by output row, never along the sum. Attention folds spans of 256 logical slots left to right from
// slot 0. It does not matter which task computes a span, or whether its partial lay in memory in
// between. Lanes have 16 slots, whatever the page size. Invisible slots are selected out, never
// multiplied by zero, because recycled memory may hold NaN. No function of libm decides bits.
//
// Thread   any; functions keep no state. Memory is the caller's.
#include <span>
#include <string_view>

#include "base/result.h"
#include "inference/kernels/attention_kernels.h"
#include "inference/kernels/elementwise_kernels.h"
#include "inference/kernels/matmul_kernels.h"
#include "inference/kernels/recurrent_kernels.h"

namespace quire::inference {

struct KernelTable {
  const char* name;         // "scalar", "avx2", "avxvnni", "avx512"
  const char* numerics_id;  // Changes whenever any bit of any result may.
  MatmulKernels matmul;
  AttentionKernels attention;
  ElementwiseKernels elementwise;
  RecurrentKernels recurrent;
};

// Every table this machine can run, slowest first. The first is always "scalar".
std::span<const KernelTable* const> supported_kernels();

// The table named, or the fastest for "auto". NotSupported lists what this machine has.
Result<const KernelTable*> choose_kernels(std::string_view name);

}  // namespace quire::inference
