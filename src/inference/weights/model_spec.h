#pragma once
// ModelSpec: what a model's files say of its shape, as switches of the one transformer body.
//
// A plain value. validate() is the gate: what passed it is safe to size buffers and loops by.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "inference/api/types.h"

namespace quire::inference {

// Pair i of a head (x[i], x[i + head_dim / 2]; always this half-split order, also for files that
// store interleaved rows) turns by position * theta^(-2 i / head_dim) / factors[i].
struct RopeSpec {
  double theta = 10000.0;
  std::vector<float> factors;  // [head_dim / 2], or empty: all 1.
};

struct ModelSpec {
  std::string name;
  std::string architecture;  // "llama" (also Mistral), "qwen2", "qwen3".
  std::uint32_t vocabulary_size = 0;
  std::uint32_t context_length = 0;
  std::uint32_t embedding_width = 0;
  std::uint32_t layer_count = 0;
  std::uint32_t head_count = 0;
  std::uint32_t kv_head_count = 0;
  std::uint32_t head_dim = 0;
  std::uint32_t feed_forward_width = 0;
  float rms_epsilon = 0.0f;
  RopeSpec rope;
  std::uint32_t sliding_window = 0;  // A key is visible when query - key < this; 0: no window.
  bool has_qk_norm = false;          // RMS norm of each q and k head, before RoPE.
  bool has_qkv_bias = false;
  bool has_attention_output_bias = false;
  bool tied_embeddings = false;  // There is no Output tensor: logits use TokenEmbedding.

  std::int32_t bos_id = -1;  // -1: none.
  std::int32_t eos_id = -1;
  std::vector<TokenId> stop_ids;  // Ascending, without repeats; holds eos_id.
  std::optional<bool> add_bos;    // What the files say; empty: they leave it to the tokenizer.

  // NotSupported or Corrupted, naming the value and its limit.
  Result<void> validate() const;
};

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
