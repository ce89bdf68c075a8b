#pragma once
// Transformer: the one body that all supported models share; ModelSpec's switches say what differs.
//
// All functions that take a Worker are run by every worker of a pool at once, and meet at the same
// barriers. Few rows (decoding): each worker norms and quantises all rows for itself, which costs
// less than a barrier; five barriers a layer remain. Many rows: every step is cut into tiles.
//
// Owns     scratch memory for row_count_max rows. Weights and kernels belong to the caller.
// Thread   one job at a time.
// Errors   Unavailable when scratch memory cannot be reserved.
#include <span>

#include "inference/api/kv_layout.h"
#include "inference/models/forward_plan.h"
#include "inference/models/low_rank.h"
#include "inference/models/model_weights.h"
#include "inference/models/rope_angles.h"
#include "inference/models/worker_pool.h"

namespace quire::inference {

struct TransformerOptions {
  KvLayout kv;
  std::uint32_t row_count_max = 512;
  std::uint32_t worker_count = 1;
};

inline constexpr std::uint32_t kLogitsRowsMax = 16;  // Of one call of logits().

class Transformer {
 public:
  static Result<Transformer> create(const ModelWeights& weights, const KernelTable& kernels,
                                    const TransformerOptions& options);

  // Writes keys and values of all rows and leaves each row's last hidden state in place.
  void forward(Worker& worker, const ForwardPlan& plan);

  // The final norm of a row of the last forward(). Any worker, after forward() returned to it.
  void hidden(std::uint32_t row, float* out) const;  // [embedding_width]

  // out[i * vocabulary_size ...] = logits of vectors[i]; at most kLogitsRowsMax vectors.
  void logits(Worker& worker, std::span<const float* const> vectors, float* out);

 private:
  // The distinct formats of matrices that share an input, and where each one's prepared
  // activations lie in the bytes of a row.
  struct Operand {
    std::uint32_t count = 0;
    NumberFormat formats[3] = {};
    std::size_t offsets[3] = {};
    std::size_t stride = 0;
    std::uint32_t column_count = 0;
    std::size_t offset_of(NumberFormat format) const;
  };
  struct LayerOperands {
    Operand qkv, attention_output, gate_up, down;
  };
  // One matrix of a matmul phase.
  struct Part {
    const PackedMatrix* matrix = nullptr;
    std::size_t operand_offset = 0;
    const std::vector<float>* bias = nullptr;
    float* out = nullptr;
  };
  struct Tile {
    std::uint32_t part, row_begin, row_end, token_first, token_count;
  };
  struct Tiling {
    std::uint32_t row_tile = 64;
    std::uint32_t token_tile = 1;
    std::uint32_t token_count = 1;
    std::uint32_t row_tile_ends[3] = {};  // Running counts over parts.
    std::uint32_t whole_tiles = 0;        // Of the last part; the others have half the rows.
    std::uint32_t part_count = 0;
    std::uint32_t tile_count = 0;
    Tile tile(std::uint32_t index, std::span<const Part> parts) const;
  };

  Transformer(const ModelWeights& weights, const KernelTable& kernels,
              const TransformerOptions& options);
  Result<void> reserve();
  Operand operand(const RoleWeights& weights, std::initializer_list<TensorRole> roles) const;
  Part part(const RoleWeights& weights, TensorRole role, const Operand& operand,
            const std::vector<float>& bias, float* out) const;
  Tiling tiling(std::span<const Part> parts, std::uint32_t token_count, std::size_t stride,
                std::uint32_t worker_count) const;
  PreparedActivations tokens_of(const std::byte* prepared, const Operand& operand, const Part& part,
                                const Tile& tile) const;
  template <typename Input>
  const std::byte* prepare_rows(Worker& worker, const Operand& operand, std::uint32_t row_count,
                                const Input& input);

  void embed(const ForwardPlan& plan, std::uint32_t row);
  void rotate_and_store(const ForwardPlan& plan, std::uint32_t layer, std::uint32_t row);
  void attention_input(Worker& worker, const ForwardPlan& plan, std::uint32_t layer);
  void attend(Worker& worker, const ForwardPlan& plan, std::uint32_t layer);
  void attend_partials(Worker& worker, const ForwardPlan& plan, std::uint32_t layer);
  AttentionTask attention_task(std::uint32_t layer, std::uint32_t head, std::uint32_t group,
                               std::uint32_t group_count) const;
  void project(Worker& worker, const ForwardPlan& plan, const Operand& operand,
               const std::byte* prepared, const Part& part, const LowRankInput& low_rank);
  void feed_forward(Worker& worker, const ForwardPlan& plan, std::uint32_t layer,
                    std::uint32_t row_first, std::uint32_t row_count);
  float* normed_of(Worker& worker, const ForwardPlan& plan, std::uint32_t row_count) const;

  // [kPartialCountMax][head_count][head_dim + kPartialTail]
  float* partials() const { return reinterpret_cast<float*>(scratch_.data()); }
  float* x(std::uint32_t row) const { return x_ + row * width_stride_; }
  float* qkv(std::uint32_t row) const { return qkv_ + row * qkv_stride_; }
  float* attended(std::uint32_t row) const { return attended_ + row * query_width_; }
  std::byte* private_of(const Worker& worker) const {
    return private_ + worker.index() * private_stride_;
  }

  const ModelWeights* weights_;
  const ModelSpec* spec_;
  const KernelTable* kernels_;
  TransformerOptions options_;
  AttentionSpec attention_;  // Of all layers.
  RopeAngles angles_;
  std::vector<LayerOperands> operands_;
  Operand head_operand_;

  std::uint32_t query_width_;    // head_count * head_dim
  std::uint32_t kv_width_;       // kv_head_count * head_dim
  std::uint32_t feed_rows_max_;  // Rows of one feed-forward step, to bound its scratch.
  std::size_t width_stride_;     // In floats, all of these.
  std::size_t qkv_stride_;
  std::size_t feed_stride_;
  std::size_t private_stride_ = 0;  // In bytes.
  std::size_t operand_stride_ = 0;  // In bytes: the longest.

  MappedMemory scratch_;
  float* x_ = nullptr;          // [row_count_max][width_stride_]: the residual stream.
  float* qkv_ = nullptr;        // [row_count_max][qkv_stride_]: q, k, v of all heads.
  float* attended_ = nullptr;   // [row_count_max][query_width_]
  float* projected_ = nullptr;  // [row_count_max][width_stride_]
  float* gate_ = nullptr;       // [feed_rows_max_][feed_stride_], as up_.
  float* up_ = nullptr;
  float* cosine_ = nullptr;  // [row_count_max][head_dim / 2], as sine_.
  float* sine_ = nullptr;
  std::byte* prepared_ = nullptr;  // [row_count_max][operand_stride_]
  std::byte* private_ = nullptr;   // [worker_count][private_stride_]
};

}  // namespace quire::inference
