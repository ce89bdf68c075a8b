#include "inference/weights/gguf_model.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/utf8.h"

namespace quire::inference {
namespace {

// Texts of control tokens that end a turn, for files that name only one end token.
constexpr std::array<std::string_view, 8> kStopTexts = {
    "<|eot_id|>",    "<|im_end|>", "<|end|>",         "<|eom_id|>",
    "<|endoftext|>", "</s>",       "<|end_of_text|>", "<end_of_turn>"};
constexpr std::int32_t kControlToken = 3;

const GgufTensor* find_tensor(const GgufFile& file, std::string_view name) {
  for (const GgufTensor& tensor : file.tensors) {
    if (tensor.name == name) return &tensor;
  }
  return nullptr;
}

Error in_file(const GgufFile& file, ErrorCode code, const std::string& what) {
  return Error(code, file.source->name() + ": " + what);
}

// The tensor of frequency factors that converters write for Llama 3's scaling.
Result<std::vector<float>> stored_factors(const GgufFile& file, const GgufTensor& tensor,
                                          std::uint32_t head_dim) {
  if (tensor.format != NumberFormat::F32 || tensor.bytes != head_dim / 2 * sizeof(float)) {
    return in_file(file, ErrorCode::Corrupted,
                   "tensor rope_freqs.weight has " + std::to_string(tensor.bytes) +
                       " bytes; F32 numbers for half of head_dim " + std::to_string(head_dim) +
                       " were expected");
  }
  std::vector<float> factors(head_dim / 2);
  TRY(tensor.source->read(tensor.offset, std::as_writable_bytes(std::span(factors))));
  return factors;
}

Result<void> read_rope(const GgufFile& file, const std::string& prefix, ModelSpec& spec) {
  const GgufMetadata& metadata = *file.metadata;
  spec.rope.theta = TRY(metadata.find_real(prefix + "rope.freq_base")).value_or(10000.0);
  const std::uint32_t turned =
      TRY(metadata.find_u32(prefix + "rope.dimension_count")).value_or(spec.head_dim);
  if (turned != spec.head_dim) {
    return in_file(file, ErrorCode::NotSupported,
                   prefix + "rope.dimension_count is " + std::to_string(turned) +
                       "; only RoPE over the whole head_dim of " + std::to_string(spec.head_dim) +
                       " is supported");
  }
  if (const GgufTensor* tensor = find_tensor(file, "rope_freqs.weight")) {
    spec.rope.factors = TRY(stored_factors(file, *tensor, spec.head_dim));
  }
  double factor = TRY(metadata.find_real(prefix + "rope.scale_linear")).value_or(1.0);
  const auto type = TRY(metadata.find_text(prefix + "rope.scaling.type"));
  if (type && *type != "none" && *type != "linear") {
    return in_file(file, ErrorCode::NotSupported,
                   prefix + "rope.scaling.type is " + in_quotes(*type) +
                       "; none, linear and rope_freqs.weight are supported");
  }
  if (type && *type == "linear") factor = TRY(metadata.real(prefix + "rope.scaling.factor"));
  if (factor != 1.0) {
    if (spec.rope.factors.empty()) spec.rope.factors.assign(spec.head_dim / 2, 1.0f);
    for (float& each : spec.rope.factors) each *= narrowed(factor);
  }
  return {};
}

Result<std::int32_t> token_id(const GgufMetadata& metadata, const char* key) {
  const auto id = TRY(metadata.find_i32(std::string("tokenizer.ggml.") + key));
  if (!id || *id < 0) return -1;
  return *id;
}

Result<void> read_special_tokens(const GgufMetadata& metadata, ModelSpec& spec) {
  spec.bos_id = TRY(token_id(metadata, "bos_token_id"));
  spec.eos_id = TRY(token_id(metadata, "eos_token_id"));
  spec.add_bos = TRY(metadata.find_bool("tokenizer.ggml.add_bos_token"));
  std::vector<std::int32_t> stops = {spec.eos_id, TRY(token_id(metadata, "eot_token_id")),
                                     TRY(token_id(metadata, "eom_token_id"))};
  if (metadata.has("tokenizer.ggml.tokens") && metadata.has("tokenizer.ggml.token_type")) {
    const TextArray& tokens = *TRY(metadata.texts("tokenizer.ggml.tokens"));
    const std::vector<std::int32_t> types = TRY(metadata.integers("tokenizer.ggml.token_type"));
    for (std::size_t id = 0; id < std::min(tokens.size(), types.size()); ++id) {
      if (types[id] != kControlToken) continue;
      if (std::ranges::find(kStopTexts, tokens[id]) == kStopTexts.end()) continue;
      stops.push_back(static_cast<std::int32_t>(id));
    }
  }
  std::ranges::sort(stops);
  stops.erase(std::unique(stops.begin(), stops.end()), stops.end());
  for (const std::int32_t id : stops) {
    if (id >= 0) spec.stop_ids.push_back(TokenId{static_cast<std::uint32_t>(id)});
  }
  return {};
}

Result<void> read_shape(const GgufFile& file, const std::string& prefix, ModelSpec& spec) {
  const GgufMetadata& metadata = *file.metadata;
  spec.context_length = TRY(metadata.u32(prefix + "context_length"));
  spec.embedding_width = TRY(metadata.u32(prefix + "embedding_length"));
  spec.layer_count = TRY(metadata.u32(prefix + "block_count"));
  spec.feed_forward_width = TRY(metadata.u32(prefix + "feed_forward_length"));
  spec.head_count = TRY(metadata.u32(prefix + "attention.head_count"));
  spec.kv_head_count =
      TRY(metadata.find_u32(prefix + "attention.head_count_kv")).value_or(spec.head_count);
  spec.rms_epsilon = narrowed(TRY(metadata.real(prefix + "attention.layer_norm_rms_epsilon")));
  spec.sliding_window = TRY(metadata.find_u32(prefix + "attention.sliding_window")).value_or(0);
  if (spec.head_count == 0) {
    return in_file(file, ErrorCode::Corrupted, prefix + "attention.head_count is 0");
  }
  const std::uint32_t even_split = spec.embedding_width / spec.head_count;
  spec.head_dim = TRY(metadata.find_u32(prefix + "attention.key_length")).value_or(even_split);
  const std::uint32_t value_dim =
      TRY(metadata.find_u32(prefix + "attention.value_length")).value_or(spec.head_dim);
  if (value_dim != spec.head_dim) {
    return in_file(file, ErrorCode::NotSupported,
                   prefix + "attention.value_length is " + std::to_string(value_dim) +
                       " where keys have " + std::to_string(spec.head_dim));
  }
  const std::uint32_t experts = TRY(metadata.find_u32(prefix + "expert_count")).value_or(0);
  if (experts != 0) {
    return in_file(file, ErrorCode::NotSupported,
                   prefix + "expert_count is " + std::to_string(experts) +
                       "; mixtures of experts are not supported");
  }
  const GgufTensor* embedding = find_tensor(file, "token_embd.weight");
  if (embedding == nullptr) {
    return in_file(file, ErrorCode::Corrupted, "the tensor token_embd.weight is missing");
  }
  spec.vocabulary_size =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(embedding->dimensions[1], 0xffffffffu));
  const std::uint32_t said =
      TRY(metadata.find_u32(prefix + "vocab_size")).value_or(spec.vocabulary_size);
  if (said != spec.vocabulary_size) {
    return in_file(file, ErrorCode::Corrupted,
                   prefix + "vocab_size is " + std::to_string(said) +
                       ", and token_embd.weight has " + std::to_string(spec.vocabulary_size) +
                       " rows");
  }
  return {};
}

Result<void> check(const GgufFile& file, const ModelSpec& spec) {
  Result<void> valid = spec.validate();
  if (!valid.ok()) return std::move(valid).take_error().while_(file.source->name());
  return {};
}

}  // namespace

Result<ModelSpec> gguf_model_spec(const GgufFile& file) {
  const GgufMetadata& metadata = *file.metadata;
  ModelSpec spec;
  spec.architecture = TRY(metadata.text("general.architecture"));
  if (spec.architecture != "llama" && spec.architecture != "qwen2" &&
      spec.architecture != "qwen3") {
    return in_file(file, ErrorCode::NotSupported,
                   "general.architecture is " + in_quotes(spec.architecture) +
                       "; llama, qwen2 and qwen3 are supported");
  }
  spec.name = TRY(metadata.find_text("general.name")).value_or(spec.architecture);
  const std::string prefix = spec.architecture + ".";
  TRY(read_shape(file, prefix, spec));
  TRY(check(file, spec));  // Before anything is sized by it.
  TRY(read_rope(file, prefix, spec));
  TRY(read_special_tokens(metadata, spec));
  TRY(check(file, spec));
  return spec;
}

Result<std::vector<StoredTensor>> gguf_stored_tensors(const GgufFile& file) {
  std::vector<StoredTensor> stored;
  for (const GgufTensor& tensor : file.tensors) {
    if (tensor.dimensions[2] != 1 || tensor.dimensions[3] != 1) {
      return in_file(file, ErrorCode::NotSupported,
                     "tensor " + in_quotes(tensor.name) + " has more than two dimensions");
    }
    stored.push_back({tensor.name, tensor.format, tensor.dimensions[1], tensor.dimensions[0],
                      tensor.offset, tensor.source});
  }
  return stored;
}

}  // namespace quire::inference
