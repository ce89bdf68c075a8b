#pragma once
// ModelWeights: all tensors of a model in memory, matrices packed as one kernel table wants them.
//
// Loading streams: the caller's thread reads and hashes slabs of rows (2 MiB), up to three threads
// pack them. So at no time more than the packed weights and seven slabs are resident. Tied
// embeddings are packed once.
//
// Owns     one arena for all matrices; vectors as F32.
// Thread   any; nothing changes after load().
// Errors   Io and Corrupted from the files, Unavailable when memory cannot be reserved.
#include <vector>

#include "inference/architectures/model_files.h"
#include "inference/kernels/kernels.h"
#include "inference/memory/mapped_memory.h"

namespace quire::inference {

// The tensors of a layer, or those that belong to no layer.
struct RoleWeights {
  ByRole<PackedMatrix> matrices;       // Without an address: the model has none.
  ByRole<std::vector<float>> vectors;  // Empty: the model has none.
};

struct ModelWeights {
  ModelSpec spec;
  Digest digest{};
  RoleWeights shared;  // Output is the embedding's matrix where embeddings are tied.
  std::vector<RoleWeights> layers;
  MappedMemory arena;

  // On `thread_count` threads at most, the caller's among them.
  static Result<ModelWeights> load(const ModelFiles& files, const KernelTable& kernels,
                                   std::uint32_t thread_count, const LoadProgress& progress = {});
};

// The description of the model for the layers above, from the files' own texts.
ModelInfo model_info(const ModelWeights& weights);

}  // namespace quire::inference
