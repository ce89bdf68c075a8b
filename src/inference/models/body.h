#pragma once
// Body: a model as it is computed: embeddings, then layer by layer a mixer of tokens and a
// feed-forward part, then the head. What a layer has is said by its LayerSpec; what its parts
// compute, by mixers/ and feed_forward/.
//
// All functions that take a Worker are run by every worker of a pool at once, and meet at the same
// barriers.
//
// Owns     scratch memory for row_count_max rows. Weights and kernels belong to the caller.
// Thread   one job at a time.
// Errors   Unavailable when scratch memory cannot be reserved.
#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "inference/models/feed_forward/dense.h"
#include "inference/models/feed_forward/experts.h"
#include "inference/models/mixers/attention.h"
#include "inference/models/mixers/delta_net.h"
#include "inference/models/rope_angles.h"

namespace quire::inference {

struct BodyOptions {
  KvLayout kv;
  std::uint32_t row_count_max = 512;
  std::uint32_t worker_count = 1;
};

inline constexpr std::uint32_t kLogitsRowsMax = 16;  // Of one call of logits().

class Body {
 public:
  static Result<std::unique_ptr<Body>> create(const PackedWeights& weights,
                                              const KernelTable& kernels,
                                              const BodyOptions& options);

  // Writes keys and values of all rows and leaves each row's last hidden state in place.
  void forward(Worker& worker, const ForwardPlan& plan) const;

  // The final norm of a row of the last forward(). Any worker, after forward() returned to it.
  void hidden(std::uint32_t row, float* out) const;  // [embedding_width]

  // out[i * vocabulary_size ...] = logits of vectors[i]; at most kLogitsRowsMax vectors.
  void logits(Worker& worker, std::span<const float* const> vectors, float* out) const;

 private:
  struct Layer {
    std::variant<AttentionMixer, DeltaNetMixer> mixer;
    std::variant<DenseFeedForward, ExpertsFeedForward> feed_forward;
  };

  // The angles of heads of one size that turn alike.
  struct Angles {
    std::uint32_t rope;  // Of ModelSpec::ropes.
    std::uint32_t first;
    RopeAngles of;
  };

  Body(const PackedWeights& weights, const KernelTable& kernels, const BodyOptions& options);
  Layer make_layer(std::uint32_t layer);
  std::variant<AttentionMixer, DeltaNetMixer> make_mixer(std::uint32_t layer);
  std::uint32_t angle_first(const AttentionSpec& spec);
  ForwardSizes sizes() const;
  ExpertSizes expert_sizes() const;
  void embed(const Forward& forward, std::uint32_t row) const;

  const PackedWeights& weights_;
  const KernelTable& kernels_;
  const BodyOptions options_;
  const StateLayout state_layout_;
  std::vector<Angles> angles_;  // One after the other in a row of ForwardScratch::cosine.
  const Operand head_;
  std::vector<Layer> layers_;
  ForwardScratch scratch_;
  std::unique_ptr<ExpertScratch> expert_scratch_;  // Null: no layer has experts.
};

}  // namespace quire::inference
