#pragma once
// The two halves of an adapter's matrices as a file holds them, and how they become an Adapter.
//
// PEFT folders and GGUF files differ in names and in where the scale comes from; both become
// StoredPairs. assemble() checks shapes against the model and the limits before it reads numbers.
// It turns rows that a file stores for interleaved RoPE into half-split order, as WeightSource does
// for weights. It also splits fused matrices, and decodes quantized numbers to F32. Other numbers
// keep their format.
//
// Thread   any; no state.
// Errors   Corrupted, TooLarge and those of the files; each names the tensor.
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "inference/api/adapter.h"
#include "inference/api/adapter_reader.h"
#include "inference/weights/model_spec.h"
#include "inference/weights/stored_tensor.h"

namespace quire::inference {

inline constexpr const char* kNoRecurrentAdapters =
    "recurrent projections take no adapters; train one of the layers that attend, or of the "
    "feed-forward parts";

// The shapes that matrices must have, and how files store them.
struct PairShape {
  AdapterBase base;
  std::vector<std::uint32_t> head_dims;    // Of each layer; 0: it does not attend.
  bool gguf_rows_are_interleaved = false;  // Those of query and key, for interleaved RoPE.

  explicit PairShape(const ModelSpec& spec);
};

// A module with weights: one projection of a layer, several that are fused, whose outputs follow
// one another, or the embeddings.
struct LinearModule {
  std::uint32_t layer = 0;
  std::vector<Projection> projections;
};
using LinearModules = std::unordered_map<std::string, LinearModule>;

// By name: of a layer's modules, `before_layer` ("model.layers." or, of GGUF, "blk."), the layer's
// number and what follows, such as "model.layers.0.self_attn.q_proj" or "blk.0.attn_q". The
// embeddings are named as given.
LinearModules linear_modules(const AdapterBase& base, TensorNaming naming,
                             const std::string& before_layer, const std::string& embeddings);

struct StoredPair {
  LinearModule module;
  StoredTensor a;  // [rank][input], or [input][rank] if is_by_input.
  StoredTensor b;  // [output][rank]
  double scale = 1.0;
  bool is_by_input = false;
  bool is_interleaved = false;  // The rows of query and key are stored for interleaved RoPE.
};

// Joins the halves of each module as a file gives them, in any order.
class PairCollector {
 public:
  enum class Half : std::uint8_t { A, B };
  // Corrupted if the half is there already.
  Result<void> add(const std::string& module, Half half, StoredTensor tensor);
  // By name of the module. Corrupted, naming the half that is missing.
  struct Pair {
    std::string module;
    StoredTensor a, b;
  };
  Result<std::vector<Pair>> finish() &&;

 private:
  struct Halves {
    std::unique_ptr<StoredTensor> a, b;
  };
  std::unordered_map<std::string, Halves> halves_;
};

Result<std::shared_ptr<const Adapter>> assemble(const PairShape& shape,
                                                const std::vector<StoredPair>& pairs,
                                                const AdapterLimits& limits);

}  // namespace quire::inference
