#pragma once
// The tiny golden models as GGUF, converted from their safetensors as llama.cpp's converter would:
// q and k rows of llama interleaved, Llama 3's factors as rope_freqs.weight, a byte-level BPE
// tokenizer. Needs quire_weights.
#include <gtest/gtest.h>

#include <unistd.h>

#include <cmath>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/half.h"
#include "inference/architectures/model_files.h"
#include "inference/weights/safetensors_file.h"
#include "support/first_layer.h"
#include "support/gguf_builder.h"
#include "support/golden.h"

namespace quire::test {

namespace tiny_gguf_detail {

inline std::string gguf_name(const std::string& name) {
  static const std::map<std::string, std::string> kNames = {
      {"self_attn.q_proj", "attn_q"},          {"self_attn.k_proj", "attn_k"},
      {"self_attn.v_proj", "attn_v"},          {"self_attn.o_proj", "attn_output"},
      {"self_attn.q_norm", "attn_q_norm"},     {"self_attn.k_norm", "attn_k_norm"},
      {"mlp.gate_proj", "ffn_gate"},           {"mlp.up_proj", "ffn_up"},
      {"mlp.down_proj", "ffn_down"},           {"input_layernorm", "attn_norm"},
      {"post_attention_layernorm", "ffn_norm"}};
  if (name == "model.embed_tokens.weight") return "token_embd.weight";
  if (name == "model.norm.weight") return "output_norm.weight";
  if (name == "lm_head.weight") return "output.weight";
  const std::string in_layers = name.substr(std::string("model.layers.").size());
  const std::size_t stem_at = in_layers.find('.') + 1;
  const std::size_t kind_at = in_layers.rfind('.');
  return "blk." + in_layers.substr(0, stem_at) +
         kNames.at(in_layers.substr(stem_at, kind_at - stem_at)) + in_layers.substr(kind_at);
}

// Half-split rows to interleaved ones: the inverse of what WeightSource does on reading.
inline std::vector<float> interleaved(const std::vector<float>& rows, std::size_t row_count,
                                      std::size_t head_dim) {
  std::vector<float> turned(rows.size());
  const std::size_t width = rows.size() / row_count;
  for (std::size_t row = 0; row < row_count; ++row) {
    const std::size_t i = row % head_dim;
    const std::size_t stored = row - i + i / 2 + i % 2 * (head_dim / 2);
    std::copy_n(rows.begin() + static_cast<std::ptrdiff_t>(stored * width), width,
                turned.begin() + static_cast<std::ptrdiff_t>(row * width));
  }
  return turned;
}

// Rounds to nearest, a scale for 32 numbers.
inline std::string q8_0(const std::vector<float>& numbers) {
  std::string blocks;
  for (std::size_t first = 0; first < numbers.size(); first += 32) {
    float largest = 0.0f;
    for (std::size_t i = 0; i < 32; ++i) largest = std::max(largest, std::abs(numbers[first + i]));
    const std::uint16_t scale = f16_from_float(largest / 127.0f);
    blocks.append(reinterpret_cast<const char*>(&scale), 2);
    for (std::size_t i = 0; i < 32; ++i) {
      const float inverse = largest == 0.0f ? 0.0f : 127.0f / largest;
      blocks += static_cast<char>(std::lround(numbers[first + i] * inverse));
    }
  }
  return blocks;
}

struct EncodedTensor {
  std::uint32_t type;  // GGML's id
  std::string bytes;
};

inline EncodedTensor encode(inference::NumberFormat format, const std::vector<float>& numbers) {
  using inference::NumberFormat;
  if (format == NumberFormat::Q8_0) return {8, q8_0(numbers)};
  if (format == NumberFormat::F32) {
    return {0, {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(float)}};
  }
  std::string halves;
  for (const float number : numbers) {
    const std::uint16_t bits =
        format == NumberFormat::F16 ? f16_from_float(number) : bf16_from_float(number);
    halves.append(reinterpret_cast<const char*>(&bits), 2);
  }
  return {format == NumberFormat::F16 ? 1u : 30u, halves};
}

inline void add_tokenizer(GgufBuilder& builder, const std::string& text, std::size_t vocabulary) {
  const auto json = nlohmann::json::parse(text);
  std::set<std::size_t> special;
  for (const auto& token : json["added_tokens"]) special.insert(token["id"].get<std::size_t>());
  std::vector<std::string> tokens(json["model"]["vocab"].size());
  for (const auto& [token, id] : json["model"]["vocab"].items()) {
    tokens.at(id.get<std::size_t>()) = token;
  }
  std::vector<std::int32_t> types;
  for (std::size_t id = 0; id < vocabulary; ++id) {
    types.push_back(id >= tokens.size() ? 5 : special.contains(id) ? 3 : 1);
    if (id >= tokens.size()) tokens.push_back("[PAD" + std::to_string(id) + "]");
  }
  std::vector<std::string> merges;
  for (const auto& merge : json["model"]["merges"]) {
    merges.push_back(merge.is_string()
                         ? merge.get<std::string>()
                         : merge[0].get<std::string>() + " " + merge[1].get<std::string>());
  }
  builder.add_text("tokenizer.ggml.model", "gpt2");
  builder.add_text("tokenizer.ggml.pre", "gpt-2");
  builder.add_texts("tokenizer.ggml.tokens", tokens);
  builder.add_numbers("tokenizer.ggml.token_type", inference::GgufType::I32, types);
  builder.add_texts("tokenizer.ggml.merges", merges);
  builder.add_u32("tokenizer.ggml.eos_token_id", 0);
  builder.add_u32("tokenizer.ggml.bos_token_id", 0);
  builder.add_bool("tokenizer.ggml.add_bos_token", false);
}

inline void add_hyperparameters(GgufBuilder& builder, const inference::ModelSpec& spec) {
  const std::string prefix = spec.architecture + ".";
  builder.add_text("general.architecture", spec.architecture);
  builder.add_text("general.name", spec.name);
  builder.add_u32(prefix + "block_count", spec.layer_count());
  builder.add_u32(prefix + "context_length", spec.context_length);
  builder.add_u32(prefix + "embedding_length", spec.embedding_width);
  builder.add_u32(prefix + "feed_forward_length", dense_of(spec).width);
  builder.add_u32(prefix + "attention.head_count", attention_of(spec).head_count);
  builder.add_u32(prefix + "attention.head_count_kv", attention_of(spec).kv_head_count);
  builder.add_u32(prefix + "attention.key_length", attention_of(spec).head_dim);
  builder.add_u32(prefix + "attention.value_length", attention_of(spec).head_dim);
  builder.add_u32(prefix + "rope.dimension_count", attention_of(spec).head_dim);
  builder.add_f32(prefix + "rope.freq_base", static_cast<float>(spec.ropes.front().theta));
  builder.add_f32(prefix + "attention.layer_norm_rms_epsilon", spec.rms_epsilon);
  builder.add_u32(prefix + "vocab_size", spec.vocabulary_size);
  builder.add_u32("general.file_type", 0);
}

}  // namespace tiny_gguf_detail

// `format` (F32, F16, BF16 or Q8_0) is that of the matrices; vectors stay F32. `architecture`: that
// of the model, if empty.
inline GgufBuilder tiny_gguf_builder(const std::string& model,
                                     inference::NumberFormat format = inference::NumberFormat::F32,
                                     const std::string& architecture = "") {
  using namespace tiny_gguf_detail;
  auto opened = inference::open_model(golden_path(model));
  auto file = inference::SafetensorsFile::open_folder(golden_path(model));
  if (!opened.ok() || !file.ok()) {
    ADD_FAILURE() << "cannot read the golden model " << model;
    return {};
  }
  inference::ModelSpec spec = opened.value()->spec();
  if (!architecture.empty()) spec.architecture = architecture;
  GgufBuilder builder;
  add_hyperparameters(builder, spec);
  add_tokenizer(builder, opened.value()->tokenizer_texts().tokenizer_json, spec.vocabulary_size);
  if (!spec.ropes.front().factors.empty()) {
    const EncodedTensor factors = encode(inference::NumberFormat::F32, spec.ropes.front().factors);
    builder.add_tensor("rope_freqs.weight", {spec.ropes.front().factors.size()}, factors.type,
                       factors.bytes);
  }
  for (const inference::SafetensorsTensor& tensor : file.value().tensors) {
    std::vector<float> numbers(tensor.bytes / sizeof(float));
    const auto read =
        tensor.source->read(tensor.offset, std::as_writable_bytes(std::span(numbers)));
    EXPECT_TRUE(read.ok());
    const bool is_turned = tensor.name.find("q_proj") != std::string::npos ||
                           tensor.name.find("k_proj") != std::string::npos;
    if (is_turned && (spec.architecture == "llama" || spec.architecture == "smollm3")) {
      numbers = interleaved(numbers, tensor.dimensions[0], attention_of(spec).head_dim);
    }
    const bool is_matrix = tensor.dimensions.size() == 2;
    const EncodedTensor encoded =
        encode(is_matrix ? format : inference::NumberFormat::F32, numbers);
    builder.add_tensor(gguf_name(tensor.name),
                       {tensor.dimensions.rbegin(), tensor.dimensions.rend()}, encoded.type,
                       encoded.bytes);
  }
  return builder;
}

// The file's bytes.
inline std::string tiny_gguf(const std::string& model,
                             inference::NumberFormat format = inference::NumberFormat::F32) {
  return tiny_gguf_builder(model, format).build();
}

// The shards of a tiny model as gguf-split writes them: tensor_counts[i] tensors in shard i, and in
// the last one those that are left.
inline std::vector<std::string> tiny_gguf_shards(const std::string& model,
                                                 std::vector<std::size_t> tensor_counts) {
  const GgufBuilder whole = tiny_gguf_builder(model);
  std::size_t left = whole.tensor_count();
  for (const std::size_t count : tensor_counts) left -= count;
  tensor_counts.push_back(left);
  std::vector<std::string> files;
  std::uint16_t index = 0;
  for (GgufBuilder& shard : whole.split(tensor_counts)) {
    shard.add_split_keys(index++, static_cast<std::uint16_t>(tensor_counts.size()),
                         static_cast<std::int32_t>(whole.tensor_count()));
    files.push_back(shard.build());
  }
  return files;
}

// Writes them to FOLDER/NAME-00001-of-0000N.gguf and so on; the path of the first.
inline std::string write_tiny_shards(const std::string& folder, const std::string& name,
                                     const std::string& model,
                                     const std::vector<std::size_t>& tensor_counts) {
  const std::vector<std::string> files = tiny_gguf_shards(model, tensor_counts);
  const inference::ShardName shard{folder + "/" + name, 1,
                                   static_cast<std::uint32_t>(files.size())};
  for (std::uint32_t number = 1; number <= shard.count; ++number) {
    std::ofstream(shard.path_of(number), std::ios::binary) << files[number - 1];
  }
  return shard.path_of(1);
}

// Writes it to a file of its own under the test's temporary folder; the path.
inline std::string write_tiny_gguf(const std::string& model,
                                   inference::NumberFormat format = inference::NumberFormat::F32) {
  const std::string path = testing::TempDir() + "quire_" + model + "_" +
                           inference::format_shape(format).name + "_" + std::to_string(getpid()) +
                           ".gguf";
  std::ofstream(path, std::ios::binary) << tiny_gguf(model, format);
  return path;
}

}  // namespace quire::test
