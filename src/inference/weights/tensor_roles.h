#pragma once
// The roles of tensors in a model, a row for each: its names in files, and its shape. A new kind of
// tensor is a role and its row; readers, loaders and the digest come of them.
//
// Thread   any; constant.
#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "inference/weights/model_spec.h"

namespace quire::inference {

enum class TensorRole : std::uint8_t {
  TokenEmbedding,
  Output,
  OutputNorm,
  AttentionNorm,
  AttentionQ,
  AttentionK,
  AttentionV,
  AttentionOutput,
  AttentionQBias,
  AttentionKBias,
  AttentionVBias,
  AttentionOutputBias,
  AttentionQNorm,
  AttentionKNorm,
  AttentionPostNorm,
  FeedForwardNorm,
  FeedForwardGate,
  FeedForwardUp,
  FeedForwardDown,
  FeedForwardPostNorm,
  Router,
  ExpertGate,
  ExpertUp,
  ExpertDown,
  SharedExpertRouter,
  SharedExpertGate,
  SharedExpertUp,
  SharedExpertDown,
  DeltaQkv,
  DeltaGate,
  DeltaBeta,
  DeltaAlpha,
  DeltaConvolution,
  DeltaDecayBias,
  DeltaDecay,
  DeltaNorm,
  DeltaOutput,
};
inline constexpr std::uint32_t kTensorRoleCount = 37;

// A vector has one row. Rows of a matrix are outputs.
struct TensorShape {
  std::uint64_t row_count = 1;
  std::uint64_t column_count = 1;
};

enum class TensorKind : std::uint8_t {
  Matrix,
  ExactMatrix,  // Is multiplied in F32, whatever its format in the file.
  Vector,
  // Is read as F32 into one vector, row after row. In safetensors each row may be a matrix.
  Table,
};
enum class TensorPlace : std::uint8_t {
  Model,
  Layer,
  Expert,  // Each expert of a layer has one.
};

struct TensorRow {
  TensorRole role{};
  const char* name = nullptr;  // "attention_q": in messages and in the digest.
  // The role's name in GGUF follows "blk.N." if the role belongs to a layer, and in safetensors
  // "model.layers.N.". GGUF has the experts of a layer in one tensor; in safetensors the number of
  // an expert is at *.
  const char* gguf = nullptr;
  const char* hugging_face = nullptr;
  TensorPlace place{};
  TensorKind kind{};
  bool is_turned = false;  // Its rows belong to heads that RoPE turns.
  // Nothing if the layer lacks the role. A role of the model does not look at `layer`.
  // A role of experts has the shape of one expert's tensor.
  std::optional<TensorShape> (*shape)(const ModelSpec& spec, const LayerSpec& layer) = nullptr;
  // The name of a tensor that holds the role as one of its parts (gate before up) in some files.
  const char* gguf_whole = nullptr;
  const char* hugging_face_whole = nullptr;
  std::uint32_t part = 0;  // Of part_count, by rows.
  std::uint32_t part_count = 1;
};

const TensorRow& row_of(TensorRole role);
std::span<const TensorRow> tensor_rows();  // In the order of the roles.

// Something for each role.
template <typename T>
class ByRole {
 public:
  T& operator[](TensorRole role) { return all_[static_cast<std::size_t>(role)]; }
  const T& operator[](TensorRole role) const { return all_[static_cast<std::size_t>(role)]; }

 private:
  std::array<T, kTensorRoleCount> all_{};
};

}  // namespace quire::inference
