#pragma once
// PackedWeights: all tensors of a model in memory, matrices packed as one kernel table wants them
// (devices/cpu/pack.h makes them).
//
// Owns     one arena for all matrices; vectors as F32.
// Thread   any; nothing changes after it was made.
#include <vector>

#include "inference/kernels/matmul_kernels.h"
#include "inference/memory/mapped_memory.h"
#include "inference/weights/tensor_roles.h"

namespace quire::inference {

// The tensors of a layer, or those that belong to no layer.
struct RoleWeights {
  ByRole<PackedMatrix> matrices;              // Without an address: the model has none.
  ByRole<std::vector<float>> vectors;         // Empty: the model has none.
  ByRole<std::vector<PackedMatrix>> experts;  // Of each expert; empty: the model has none.
};

struct PackedWeights {
  ModelSpec spec;
  Digest digest{};     // Of the tensors as stored.
  RoleWeights shared;  // Output is the embedding's matrix where embeddings are tied.
  std::vector<RoleWeights> layers;
  MappedMemory arena;
};

}  // namespace quire::inference
