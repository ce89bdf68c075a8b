#pragma once
// ModelSpec: what a model's files say of its shape. It is a list of layers; each says how it mixes
// tokens (its mixer) and how it transforms each of them (its feed-forward part).
//
// A plain value. validate() is the gate: what passed it is safe to size buffers and loops by.
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "inference/api/types.h"

namespace quire::inference {

// Pair i of a head (x[i], x[i + turned_dim / 2]; always this half-split order, also for files that
// store interleaved rows) turns by position * theta^(-2 i / turned_dim) / factors[i].
struct RopeSpec {
  double theta = 10000.0;
  std::vector<float> factors;  // [turned_dim / 2], or empty: all 1.
};

// Norms of queries and keys, before RoPE.
enum class QkNorm : std::uint8_t { None, EachHead, WholeWidth };

// softmax(scale * Q K^T) V, over the keys that a row sees.
struct AttentionSpec {
  std::uint32_t head_count = 0;
  std::uint32_t kv_head_count = 0;
  std::uint32_t head_dim = 0;
  std::uint32_t sliding_window = 0;       // A key is visible when query - key < this; 0: no window.
  std::optional<std::uint32_t> rope = 0;  // Of ModelSpec::ropes; nothing: heads are not turned.
  std::uint32_t rotary_dim = 0;  // RoPE turns the first so many numbers of a head; 0: all of them.
  QkNorm qk_norm = QkNorm::None;
  bool has_qkv_bias = false;
  bool has_output_bias = false;
  // The query projection gives the query and the gate of a head, then those of the next. What a
  // head attended to is multiplied by sigmoid(gate).
  bool has_gate = false;

  float scale() const;
  std::uint32_t turned_dim() const { return rotary_dim == 0 ? head_dim : rotary_dim; }
  std::uint32_t query_width() const { return head_count * head_dim; }
  // Outputs of the query projection.
  std::uint32_t projected_query_width() const {
    return has_gate ? 2 * query_width() : query_width();
  }
  std::uint32_t kv_width() const { return kv_head_count * head_dim; }
  friend bool operator==(const AttentionSpec&, const AttentionSpec&) = default;
};

// The gated delta rule ("Gated Delta Networks", Yang and others, 2024). One projection gives q, k
// and v of a row. A causal convolution over the last convolution_width rows follows, and SiLU. Then
// q and k of a head are scaled to length 1, and q is divided by sqrt(key_dim).
//
// Each value head has a state S [key_dim][value_dim], which is zero before the first row. A row
// changes the state, and then reads it:
//   S = decay * S
//   S = S + k (beta * (v - S^T k))^T
//   o = S^T q
// Here decay is exp(a * softplus(alpha(x) + bias)), and beta is sigmoid(beta(x)). The output is
// out(norm(o) * silu(gate(x))), with an RMS norm over each head.
struct DeltaNetSpec {
  std::uint32_t key_head_count = 0;  // Of queries, too.
  std::uint32_t value_head_count = 0;
  std::uint32_t key_dim = 0;  // Of a head, as the next.
  std::uint32_t value_dim = 0;
  std::uint32_t convolution_width = 0;  // Rows.
  // Value head h has the key head h % key_head_count; otherwise h / (value heads of a key head).
  bool has_tiled_heads = false;

  std::uint32_t key_width() const { return key_head_count * key_dim; }
  std::uint32_t value_width() const { return value_head_count * value_dim; }
  std::uint32_t channel_count() const { return 2 * key_width() + value_width(); }  // q, k, v.
  // Numbers of a layer's state: S of each value head, and the convolution's inputs of the last
  // convolution_width - 1 rows.
  std::uint64_t state_float_count() const {
    return std::uint64_t{value_head_count} * key_dim * value_dim +
           std::uint64_t{convolution_width - 1} * channel_count();
  }
  std::uint32_t key_head_of(std::uint32_t value_head) const {
    return has_tiled_heads ? value_head % key_head_count
                           : value_head / (value_head_count / key_head_count);
  }
  friend bool operator==(const DeltaNetSpec&, const DeltaNetSpec&) = default;
};

// down(silu(gate(x)) * up(x))
struct DenseSpec {
  std::uint32_t width = 0;

  friend bool operator==(const DenseSpec&, const DenseSpec&) = default;
};

// A mixture of experts: each row goes through the used_count experts that its router gives the most
// weight, and through the shared one if there is one. A row's weights are the softmax over all
// experts, of which the largest count; of equal ones the first.
//   sum over chosen e of w[e] * dense[e](x), and sigmoid(g . x) * shared(x)
struct ExpertsSpec {
  std::uint32_t expert_count = 0;
  std::uint32_t used_count = 0;
  std::uint32_t width = 0;         // Of each expert.
  std::uint32_t shared_width = 0;  // Is 0 if the layer has no shared expert.
  bool is_renormalised = false;    // The chosen weights are divided by their sum.
  float weight_scale = 1.0f;       // Multiplies them last.

  bool has_shared() const { return shared_width > 0; }
  friend bool operator==(const ExpertsSpec&, const ExpertsSpec&) = default;
};

// The place of a layer's two RMS norms: x += part(norm(x)), or x += norm(part(x)).
enum class NormPlace : std::uint8_t { Before, After };

// x += mixer(x); x += feed_forward(x), with norms.
struct LayerSpec {
  std::variant<AttentionSpec, DeltaNetSpec> mixer;
  std::variant<DenseSpec, ExpertsSpec> feed_forward;
  NormPlace norms = NormPlace::Before;

  // Null: the layer has another kind.
  const AttentionSpec* attention() const { return std::get_if<AttentionSpec>(&mixer); }
  AttentionSpec* attention() { return std::get_if<AttentionSpec>(&mixer); }
  const DeltaNetSpec* delta_net() const { return std::get_if<DeltaNetSpec>(&mixer); }
  const DenseSpec* dense() const { return std::get_if<DenseSpec>(&feed_forward); }
  DenseSpec* dense() { return std::get_if<DenseSpec>(&feed_forward); }
  std::uint32_t dense_width() const { return dense() == nullptr ? 0 : dense()->width; }
  const ExpertsSpec* experts() const { return std::get_if<ExpertsSpec>(&feed_forward); }
  friend bool operator==(const LayerSpec&, const LayerSpec&) = default;
};

struct ModelSpec {
  std::string name;
  std::string architecture;  // Architecture::name.
  std::uint32_t vocabulary_size = 0;
  std::uint32_t context_length = 0;
  std::uint32_t embedding_width = 0;
  float rms_epsilon = 0.0f;
  bool tied_embeddings = false;  // There is no Output tensor: logits use TokenEmbedding.
  std::vector<RopeSpec> ropes;   // Of which each layer with attention names one.
  std::vector<LayerSpec> layers;
  // Blocks of the file after its layers, which draft further tokens. They are left out.
  std::uint32_t draft_block_count = 0;

  std::int32_t bos_id = -1;  // -1: none.
  std::int32_t eos_id = -1;
  std::vector<TokenId> stop_ids;  // Ascending, without repeats; holds eos_id.
  std::optional<bool> add_bos;    // What the files say; empty: they leave it to the tokenizer.

  std::uint32_t layer_count() const { return static_cast<std::uint32_t>(layers.size()); }
  // NotSupported or Corrupted, naming the value and its limit.
  Result<void> validate() const;
};

// The first layer that attends; null: none does.
const AttentionSpec* first_attention(const ModelSpec& spec);
// The heads with keys and values of each layer.
std::vector<KvHeads> kv_heads(const ModelSpec& spec);
// The description of the model for the layers above, from the files' own texts.
ModelInfo model_info(const ModelSpec& spec, const Digest& digest);
bool has_experts(const ModelSpec& spec);
// Whether a layer has a state, which each row changes (api/batch.h).
bool has_states(const ModelSpec& spec);
// Numbers of a state, all F32: those of each recurrent layer, and the output of one row. 0: the
// model has no states.
std::uint64_t state_float_count(const ModelSpec& spec);
// The windows that layers have, each once, in the order of the layers; 0: none.
std::vector<std::uint32_t> sliding_windows(const ModelSpec& spec);

// Before layers are made of a number that a file gives. Corrupted, naming the limit.
Result<void> check_layer_count(std::uint32_t layer_count);

// A value beyond a float becomes infinity, which validate() refuses.
float narrowed(double value);

// The factors of Llama 3's RoPE scaling, which published checkpoints give as four numbers and GGUF
// as a tensor.
struct Llama3Scaling {
  double factor = 1.0;
  double low_frequency_factor = 1.0;
  double high_frequency_factor = 4.0;
  double original_context_length = 8192.0;
};
std::vector<float> llama3_factors(const Llama3Scaling& scaling, double theta,
                                  std::uint32_t head_dim);

}  // namespace quire::inference
