#pragma once
// Packs the weights of a model for the kernels of this device, while they are read.
//
// The caller's thread reads and hashes slabs of rows (2 MiB), up to three threads pack them. So at
// no time more than the packed weights and seven slabs are resident. Tied embeddings are packed
// once.
//
// Thread   one.
// Errors   Io and Corrupted from the files, Unavailable when memory cannot be reserved.
#include <cstdint>

#include "inference/architectures/model_weights.h"
#include "inference/models/packed_weights.h"

namespace quire::inference {

// On `thread_count` threads at most, the caller's among them.
Result<PackedWeights> pack_weights(const ModelFiles& files, const MatmulKernels& kernels,
                                   std::uint32_t thread_count, const LoadProgress& progress = {});

}  // namespace quire::inference
