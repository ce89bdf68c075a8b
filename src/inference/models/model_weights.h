#pragma once
// ModelWeights: all tensors of a model in memory, matrices packed as one kernel table wants them.
//
// Loading streams: the caller's thread reads and hashes slabs of rows (2 MiB), up to three threads
// pack them. So at no time more than the packed weights and seven slabs are resident. Tied
// embeddings are packed once.
//
// Owns     one arena for all matrices; vectors as F32.
// Thread   any; nothing changes after load().
// Errors   Io and Corrupted from the files, Unavailable when memory cannot be reserved,
//          NotSupported for shapes that no kernel takes (head_dim).
#include <vector>

#include "inference/kernels/kernels.h"
#include "inference/memory/mapped_memory.h"
#include "inference/weights/model_files.h"

namespace quire::inference {

struct LayerWeights {
  std::vector<float> attention_norm;
  std::vector<float> feed_forward_norm;
  PackedMatrix q, k, v, attention_output;
  std::vector<float> q_bias, k_bias, v_bias, attention_output_bias;  // Empty: none.
  std::vector<float> q_norm, k_norm;                                 // Empty: none.
  PackedMatrix gate, up, down;
};

struct ModelWeights {
  ModelSpec spec;
  Digest digest{};
  PackedMatrix token_embedding;
  PackedMatrix output;  // The same matrix where embeddings are tied.
  std::vector<float> output_norm;
  std::vector<LayerWeights> layers;
  MappedMemory arena;

  // On `thread_count` threads at most, the caller's among them.
  static Result<ModelWeights> load(const ModelFiles& files, const KernelTable& kernels,
                                   std::uint32_t thread_count, const LoadProgress& progress = {});
};

// The description of the model for the layers above, from the files' own texts.
ModelInfo model_info(const ModelWeights& weights);

}  // namespace quire::inference
