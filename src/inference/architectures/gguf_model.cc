#include "inference/architectures/gguf_model.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string_view>

#include "base/utf8.h"
#include "inference/architectures/architecture.h"

namespace quire::inference {
namespace {

// llama.cpp finds the tokens that end a text by these texts, whatever type the file gives them:
// many files name one end token, and call the others normal or user-defined. From llama-vocab.cpp
// of llama-cpp-python 0.3.36; the last rows end the parts of a text to fill in.
constexpr std::string_view kStopTexts[] = {"<|eot_id|>",
                                           "<|im_end|>",
                                           "<|end|>",
                                           "<|return|>",
                                           "<|call|>",
                                           "<|flush|>",
                                           "<|calls|>",
                                           "<end_of_turn>",
                                           "<|endoftext|>",
                                           "</s>",
                                           "<|eom_id|>",
                                           "<EOT>",
                                           "_<EOT>",
                                           "[EOT]",
                                           "[EOS]",
                                           "<|end_of_text|>",
                                           "<end_of_utterance>",
                                           "<eos>",
                                           "<turn|>",
                                           "<|tool_response>",
                                           "<\uff5cend\u2581of\u2581sentence\uff5c>",
                                           "[e~[",
                                           "<|fim_pad|>",
                                           "<fim-pad>",
                                           "<fim_pad>",
                                           "<PAD>",
                                           "[PAD]",
                                           "<|fim_repo|>",
                                           "<|repo_name|>",
                                           "<fim-repo>",
                                           "<REPO>",
                                           "<reponame>",
                                           "<|file_sep|>"};

// The metadata may name them by id.
constexpr const char* kStopKeys[] = {"eos_token_id",     "eot_token_id",     "eom_token_id",
                                     "fim_pad_token_id", "fim_rep_token_id", "fim_sep_token_id"};

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

// By how much positions are divided. As llama.cpp reads them: the older rope.scale_linear counts
// where there is no rope.scaling.factor, a factor without a type is linear, and the type none
// switches it off.
Result<double> linear_factor(const GgufFile& file, const std::string& prefix) {
  const GgufMetadata& metadata = *file.metadata;
  const auto type = TRY(metadata.find_text(prefix + "rope.scaling.type"));
  if (type && *type != "none" && *type != "linear") {
    return in_file(file, ErrorCode::NotSupported,
                   prefix + "rope.scaling.type is " + in_quotes(*type) +
                       "; none, linear and rope_freqs.weight are supported");
  }
  const double magnitude =
      TRY(metadata.find_real(prefix + "rope.scaling.attn_factor")).value_or(1.0);
  if (magnitude != 1.0) {
    return in_file(file, ErrorCode::NotSupported,
                   prefix + "rope.scaling.attn_factor is " + std::to_string(magnitude) +
                       "; only 1 is supported");
  }
  std::string key = prefix + "rope.scaling.factor";
  if (!metadata.has(key)) key = prefix + "rope.scale_linear";
  const auto factor = TRY(metadata.find_real(key));
  if (!factor) {
    if (!type || *type == "none") return 1.0;
    return in_file(file, ErrorCode::Corrupted,
                   prefix + "rope.scaling.type is linear, and there is no rope.scaling.factor");
  }
  if (!(*factor > 0.0)) {
    return in_file(file, ErrorCode::Corrupted,
                   key + " is " + std::to_string(*factor) + "; a number above 0 was expected");
  }
  return type && *type == "none" ? 1.0 : *factor;
}

// One RoPE, of the layers that attend. `attention` is that of one of them.
Result<RopeSpec> read_rope(const GgufFile& file, const std::string& prefix,
                           const AttentionSpec& attention) {
  const GgufMetadata& metadata = *file.metadata;
  RopeSpec rope;
  rope.theta = TRY(metadata.find_real(prefix + "rope.freq_base")).value_or(10000.0);
  const std::uint32_t turned = attention.turned_dim();
  const std::uint32_t said =
      TRY(metadata.find_u32(prefix + "rope.dimension_count")).value_or(turned);
  if (said != turned) {
    return in_file(file, ErrorCode::NotSupported,
                   prefix + "rope.dimension_count is " + std::to_string(said) +
                       "; only RoPE over the whole head_dim of " + std::to_string(turned) +
                       " is supported");
  }
  if (const GgufTensor* tensor = find_tensor(file, "rope_freqs.weight")) {
    rope.factors = TRY(stored_factors(file, *tensor, turned));
  }
  const double factor = TRY(linear_factor(file, prefix));
  if (factor != 1.0) {
    if (rope.factors.empty()) rope.factors.assign(turned / 2, 1.0f);
    for (float& each : rope.factors) each *= narrowed(factor);
  }
  return rope;
}

Result<std::int32_t> token_id(const GgufMetadata& metadata, const char* key) {
  const auto id = TRY(metadata.find_i32(std::string("tokenizer.ggml.") + key));
  if (id && *id < -1) {
    return Error(ErrorCode::Corrupted, metadata.source_name() + ": tokenizer.ggml." + key + " is " +
                                           std::to_string(*id) + ", which is not a token id");
  }
  return id.value_or(-1);
}

using TokensByText = std::map<std::string_view, std::vector<std::int32_t>>;

// The ids of the stop texts. Two of them are ordinary in some vocabularies, as in llama.cpp.
std::vector<std::int32_t> stops_by_text(const TextArray& tokens) {
  TokensByText found;
  for (std::size_t id = 0; id < tokens.size(); ++id) {
    if (std::ranges::find(kStopTexts, tokens[id]) == std::end(kStopTexts)) continue;
    found[tokens[id]].push_back(static_cast<std::int32_t>(id));
  }
  const auto has = [&](std::string_view text) { return found.contains(text); };
  const bool calls = has("<|call|>") || has("<|calls|>");
  if (calls && (has("<|return|>") || has("<|flush|>"))) found.erase("<|end|>");
  if (has("<|tool_response>")) found.erase("</s>");
  std::vector<std::int32_t> stops;
  for (const auto& [text, ids] : found) stops.insert(stops.end(), ids.begin(), ids.end());
  return stops;
}

Result<void> read_special_tokens(const GgufMetadata& metadata, ModelSpec& spec) {
  spec.bos_id = TRY(token_id(metadata, "bos_token_id"));
  spec.eos_id = TRY(token_id(metadata, "eos_token_id"));
  spec.add_bos = TRY(metadata.find_bool("tokenizer.ggml.add_bos_token"));
  std::vector<std::int32_t> stops;
  if (metadata.has("tokenizer.ggml.tokens")) {
    stops = stops_by_text(*TRY(metadata.texts("tokenizer.ggml.tokens")));
  }
  for (const char* key : kStopKeys) stops.push_back(TRY(token_id(metadata, key)));
  std::ranges::sort(stops);
  stops.erase(std::unique(stops.begin(), stops.end()), stops.end());
  for (const std::int32_t id : stops) {
    if (id >= 0) spec.stop_ids.push_back(TokenId{static_cast<std::uint32_t>(id)});
  }
  return {};
}

// Refuses keys that llama.cpp reads for every architecture and that this body lacks. Keys that it
// reads for other architectures alone, such as attention.sliding_window and granite's scales, have
// no effect here.
Result<void> refuse_unsupported(const GgufFile& file, const std::string& prefix,
                                const Architecture& architecture) {
  const GgufMetadata& metadata = *file.metadata;
  const auto refusal = [&](const std::string& key, const std::string& value,
                           const std::string& why) {
    return in_file(file, ErrorCode::NotSupported, prefix + key + " is " + value + "; " + why);
  };
  const std::uint32_t experts = TRY(metadata.find_u32(prefix + "expert_count")).value_or(0);
  if (experts != 0 && !architecture.is_mixture) {
    return refusal("expert_count", std::to_string(experts),
                   "models of this architecture have no experts here");
  }
  const std::uint32_t drafting =
      TRY(metadata.find_u32(prefix + "nextn_predict_layers")).value_or(0);
  if (drafting != 0 && !architecture.has_draft_blocks) {
    return refusal("nextn_predict_layers", std::to_string(drafting),
                   "layers that predict further tokens are not supported");
  }
  if (!TRY(metadata.find_bool(prefix + "attention.causal")).value_or(true)) {
    return refusal("attention.causal", "false", "only causal attention is supported");
  }
  return {};
}

// A number of each layer: the file has one for all, or a list. Nothing: it has no such key.
Result<std::optional<std::vector<std::uint32_t>>> find_of_layers(const GgufFile& file,
                                                                 const std::string& key,
                                                                 std::uint32_t layer_count) {
  using Numbers = std::optional<std::vector<std::uint32_t>>;
  const GgufMetadata& metadata = *file.metadata;
  const GgufValue* value = metadata.find(key);
  if (value == nullptr || value->type != GgufType::Array) {
    const auto number = TRY(metadata.find_u32(key));
    return number ? Numbers(std::vector(layer_count, *number)) : Numbers();
  }
  const std::vector<std::int32_t> numbers = TRY(metadata.integers(key));
  if (numbers.size() != layer_count) {
    return in_file(file, ErrorCode::Corrupted,
                   key + " has " + std::to_string(numbers.size()) + " numbers for " +
                       std::to_string(layer_count) + " layers");
  }
  for (const std::int32_t number : numbers) {
    if (number >= 0) continue;
    return in_file(file, ErrorCode::Corrupted, key + " holds " + std::to_string(number));
  }
  return Numbers(std::vector<std::uint32_t>(numbers.begin(), numbers.end()));
}

Result<std::vector<std::uint32_t>> of_layers(const GgufFile& file, const std::string& key,
                                             std::uint32_t layer_count) {
  auto numbers = TRY(find_of_layers(file, key, layer_count));
  if (numbers) return std::move(*numbers);
  return in_file(file, ErrorCode::NotFound, "the metadata has no " + in_quotes(key));
}

// The size of all heads. llama.cpp takes the even share of the first layer's heads, too.
Result<std::uint32_t> read_head_dim(const GgufFile& file, const std::string& prefix,
                                    std::uint32_t embedding_width, std::uint32_t head_count) {
  const GgufMetadata& metadata = *file.metadata;
  const std::uint32_t even_share = embedding_width / head_count;
  const std::uint32_t head_dim =
      TRY(metadata.find_u32(prefix + "attention.key_length")).value_or(even_share);
  const std::uint32_t value_dim =
      TRY(metadata.find_u32(prefix + "attention.value_length")).value_or(head_dim);
  if (value_dim == head_dim) return head_dim;
  return in_file(file, ErrorCode::NotSupported,
                 prefix + "attention.value_length is " + std::to_string(value_dim) +
                     " where keys have " + std::to_string(head_dim));
}

struct BlockCounts {
  std::uint32_t layers = 0;
  std::uint32_t all = 0;  // With those that draft further tokens.
};

Result<BlockCounts> read_block_counts(const GgufFile& file, const std::string& prefix) {
  const GgufMetadata& metadata = *file.metadata;
  const std::uint32_t all = TRY(metadata.u32(prefix + "block_count"));
  Result<void> checked = check_layer_count(all);
  if (!checked.ok()) return std::move(checked).take_error().while_(file.source->name());
  const std::uint32_t drafting =
      TRY(metadata.find_u32(prefix + "nextn_predict_layers")).value_or(0);
  if (drafting >= all) {
    return in_file(file, ErrorCode::Corrupted,
                   prefix + "nextn_predict_layers is " + std::to_string(drafting) + ", and " +
                       prefix + "block_count, which counts them, is " + std::to_string(all));
  }
  return BlockCounts{all - drafting, all};
}

// Layers with attention and a dense feed-forward part. Files of some mixtures say nothing of it.
Result<void> read_layers(const GgufFile& file, const std::string& prefix, const BlockCounts& blocks,
                         bool is_mixture, ModelSpec& spec) {
  const std::string width_key = prefix + "feed_forward_length";
  const auto widths = is_mixture && !file.metadata->has(width_key)
                          ? std::vector<std::uint32_t>(blocks.all, 0)
                          : TRY(of_layers(file, width_key, blocks.all));
  const auto heads = TRY(of_layers(file, prefix + "attention.head_count", blocks.all));
  const auto kv_heads =
      TRY(find_of_layers(file, prefix + "attention.head_count_kv", blocks.all)).value_or(heads);
  if (std::ranges::find(heads, 0u) != heads.end()) {
    return in_file(file, ErrorCode::Corrupted, prefix + "attention.head_count is 0");
  }
  const std::uint32_t head_dim =
      TRY(read_head_dim(file, prefix, spec.embedding_width, heads.front()));
  for (std::uint32_t layer = 0; layer < blocks.layers; ++layer) {
    spec.layers.push_back(
        {AttentionSpec{
             .head_count = heads[layer], .kv_head_count = kv_heads[layer], .head_dim = head_dim},
         DenseSpec{.width = widths[layer]}});
  }
  return {};
}

Result<std::uint32_t> read_vocabulary_size(const GgufFile& file, const std::string& prefix) {
  const GgufTensor* embedding = find_tensor(file, "token_embd.weight");
  if (embedding == nullptr) {
    return in_file(file, ErrorCode::Corrupted, "the tensor token_embd.weight is missing");
  }
  const auto rows =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(embedding->dimensions[1], 0xffffffffu));
  const std::uint32_t said = TRY(file.metadata->find_u32(prefix + "vocab_size")).value_or(rows);
  if (said == rows) return rows;
  return in_file(file, ErrorCode::Corrupted,
                 prefix + "vocab_size is " + std::to_string(said) + ", and token_embd.weight has " +
                     std::to_string(rows) + " rows");
}

Result<void> read_shape(const GgufFile& file, const std::string& prefix, bool is_mixture,
                        ModelSpec& spec) {
  const GgufMetadata& metadata = *file.metadata;
  spec.context_length = TRY(metadata.u32(prefix + "context_length"));
  spec.embedding_width = TRY(metadata.u32(prefix + "embedding_length"));
  const BlockCounts blocks = TRY(read_block_counts(file, prefix));
  spec.draft_block_count = blocks.all - blocks.layers;
  TRY(read_layers(file, prefix, blocks, is_mixture, spec));
  spec.rms_epsilon = narrowed(TRY(metadata.real(prefix + "attention.layer_norm_rms_epsilon")));
  spec.vocabulary_size = TRY(read_vocabulary_size(file, prefix));
  spec.ropes.resize(1);
  return {};
}

Result<void> check(const GgufFile& file, const ModelSpec& spec) {
  Result<void> valid = spec.validate();
  if (!valid.ok()) return std::move(valid).take_error().while_(file.source->name());
  return {};
}

}  // namespace

bool supports_gguf_architecture(std::string_view architecture) {
  return find_architecture(architecture) != nullptr;
}

Result<ModelSpec> gguf_model_spec(const GgufFile& file) {
  const GgufMetadata& metadata = *file.metadata;
  ModelSpec spec;
  spec.architecture = TRY(metadata.text("general.architecture"));
  if (!supports_gguf_architecture(spec.architecture)) {
    return in_file(file, ErrorCode::NotSupported,
                   "general.architecture is " + in_quotes(spec.architecture) + "; " +
                       architecture_names() + " are supported");
  }
  spec.name = TRY(metadata.find_text("general.name")).value_or(spec.architecture);
  const std::string prefix = spec.architecture + ".";
  const Architecture* architecture = find_architecture(spec.architecture);
  TRY(refuse_unsupported(file, prefix, *architecture));
  TRY(read_shape(file, prefix, architecture->is_mixture, spec));
  if (architecture->complete != nullptr) TRY(architecture->complete(metadata, spec));
  TRY(check(file, spec));  // Before anything is sized by it.
  spec.ropes = {TRY(read_rope(file, prefix, *first_attention(spec)))};
  TRY(read_special_tokens(metadata, spec));
  TRY(check(file, spec));
  return spec;
}

Result<std::vector<StoredTensor>> gguf_stored_tensors(const GgufFile& file) {
  std::vector<StoredTensor> stored;
  for (const GgufTensor& tensor : file.tensors) {
    if (tensor.dimensions[3] != 1) {
      return in_file(file, ErrorCode::NotSupported,
                     "tensor " + in_quotes(tensor.name) + " has more than three dimensions");
    }
    stored.push_back({tensor.name, tensor.format, tensor.dimensions[1], tensor.dimensions[0],
                      tensor.dimensions[2], tensor.offset, tensor.source});
  }
  return stored;
}

}  // namespace quire::inference
