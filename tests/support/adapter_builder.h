#pragma once
// Random adapters for tests, and their files: PEFT's two and GGUF, as PEFT and llama.cpp's
// converter write them.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "base/half.h"
#include "inference/api/adapter.h"
#include "inference/weights/model_spec.h"
#include "support/first_layer.h"
#include "support/gguf_builder.h"
#include "support/safetensors_builder.h"

namespace quire::test {

struct LowRankPair {
  std::uint32_t layer = 0;
  inference::Projection projection{};
  std::uint32_t rank = 0;
  std::vector<float> a;  // [rank][input]
  std::vector<float> b;  // [output][rank], half-split order
};

// Numbers that BF16 and F16 hold exactly, of about 1 / sqrt(row).
inline std::vector<float> random_numbers(std::mt19937& random, std::size_t count, std::size_t row) {
  const float size = std::exp2(-std::round(std::log2(static_cast<float>(row)) / 2.0f));
  std::vector<float> numbers(count);
  for (float& number : numbers) {
    number = size * (static_cast<float>(random() % 255) - 127.0f) / 128.0f;
  }
  return numbers;
}

inline LowRankPair random_pair(std::mt19937& random, const inference::AdapterBase& base,
                               std::uint32_t layer, inference::Projection projection,
                               std::uint32_t rank) {
  const std::size_t input = base.input_count(layer, projection);
  const std::size_t output = base.output_count(layer, projection);
  return {.layer = layer,
          .projection = projection,
          .rank = rank,
          .a = random_numbers(random, rank * input, input),
          .b = random_numbers(random, output * rank, rank)};
}

// On all seven projections of all layers, without the embeddings.
inline std::vector<LowRankPair> random_pairs(std::uint32_t seed, const inference::AdapterBase& base,
                                             std::uint32_t rank) {
  std::mt19937 random(seed);
  std::vector<LowRankPair> pairs;
  for (std::uint32_t layer = 0; layer < base.layer_count(); ++layer) {
    for (std::uint32_t p = 0; p < 7; ++p) {
      pairs.push_back(
          random_pair(random, base, layer, static_cast<inference::Projection>(p), rank));
    }
  }
  return pairs;
}

inline std::string number_bytes(inference::NumberFormat format, const std::vector<float>& numbers) {
  if (format == inference::NumberFormat::F32) {
    return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(float)};
  }
  std::string bytes;
  for (const float number : numbers) {
    const std::uint16_t bits =
        format == inference::NumberFormat::F16 ? f16_from_float(number) : bf16_from_float(number);
    bytes.append(reinterpret_cast<const char*>(&bits), sizeof bits);
  }
  return bytes;
}

inline std::string peft_module(std::uint32_t layer, inference::Projection projection) {
  constexpr const char* kNames[] = {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj",
                                    "self_attn.o_proj", "mlp.gate_proj",    "mlp.up_proj",
                                    "mlp.down_proj"};
  return "model.layers." + std::to_string(layer) + "." +
         kNames[static_cast<std::uint32_t>(projection)];
}

struct NamedTensor {
  std::string name;
  std::string dtype;
  std::vector<std::uint64_t> shape;  // Slowest first.
  std::string bytes;
};

inline std::string safetensors_of(const std::vector<NamedTensor>& tensors) {
  std::string header = R"({"__metadata__":{"format":"pt"})";
  std::string data;
  for (const NamedTensor& tensor : tensors) {
    header += ",\"" + tensor.name + "\":{\"dtype\":\"" + tensor.dtype + "\",\"shape\":[";
    for (const std::uint64_t each : tensor.shape) header += std::to_string(each) + ",";
    if (!tensor.shape.empty()) header.pop_back();
    header += "],\"data_offsets\":[" + std::to_string(data.size()) + ",";
    data += tensor.bytes;
    header += std::to_string(data.size()) + "]}";
  }
  return safetensors_with_header(header + "}", data);
}

inline std::vector<NamedTensor> peft_tensors(
    const std::vector<LowRankPair>& pairs,
    inference::NumberFormat format = inference::NumberFormat::F32) {
  std::vector<NamedTensor> tensors;
  for (const LowRankPair& pair : pairs) {
    const std::string name =
        "base_model.model." + peft_module(pair.layer, pair.projection) + ".lora_";
    const std::string dtype = inference::format_shape(format).name;
    tensors.push_back({name + "A.weight",
                       dtype,
                       {pair.rank, pair.a.size() / pair.rank},
                       number_bytes(format, pair.a)});
    tensors.push_back({name + "B.weight",
                       dtype,
                       {pair.b.size() / pair.rank, pair.rank},
                       number_bytes(format, pair.b)});
  }
  return tensors;
}

// The members that PEFT writes, with those of `more` ("\"r\": 4, ...") in their place.
inline std::string peft_config(std::uint32_t rank, double alpha, const std::string& more = "") {
  std::string text = R"({"peft_type": "LORA", "bias": "none", "init_lora_weights": true, )";
  if (more.find("\"target_modules\"") == std::string::npos) {
    text += R"("target_modules": ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", )"
            R"("up_proj", "down_proj"], )";
  }
  text += "\"r\": " + std::to_string(rank) + ", \"lora_alpha\": " + std::to_string(alpha);
  return text + (more.empty() ? "}" : ", " + more + "}");
}

// Half-split rows to interleaved ones, as GGUF files of llama hold them.
inline std::vector<float> interleaved_rows(const std::vector<float>& rows, std::size_t width,
                                           std::size_t head_dim) {
  std::vector<float> turned(rows.size());
  for (std::size_t row = 0; row * width < rows.size(); ++row) {
    const std::size_t i = row % head_dim;
    const std::size_t from = row - i + i / 2 + i % 2 * (head_dim / 2);
    std::memcpy(&turned[row * width], &rows[from * width], width * sizeof(float));
  }
  return turned;
}

inline GgufBuilder gguf_adapter_builder(
    const inference::ModelSpec& spec, const std::vector<LowRankPair>& pairs, float alpha,
    inference::NumberFormat format = inference::NumberFormat::F32) {
  constexpr const char* kNames[] = {"attn_q",   "attn_k", "attn_v",  "attn_output",
                                    "ffn_gate", "ffn_up", "ffn_down"};
  GgufBuilder builder;
  builder.add_text("general.type", "adapter");
  builder.add_text("general.architecture", spec.architecture);
  builder.add_text("adapter.type", "lora");
  builder.add_f32("adapter.lora.alpha", alpha);
  const std::uint32_t type = format == inference::NumberFormat::F32   ? 0
                             : format == inference::NumberFormat::F16 ? 1
                                                                      : 30;
  for (const LowRankPair& pair : pairs) {
    const bool is_turned =
        spec.architecture == "llama" && (pair.projection == inference::Projection::Query ||
                                         pair.projection == inference::Projection::Key);
    const std::string name = "blk." + std::to_string(pair.layer) + "." +
                             kNames[static_cast<std::uint32_t>(pair.projection)] + ".weight.lora_";
    const std::vector<float> b =
        is_turned ? interleaved_rows(pair.b, pair.rank, attention_of(spec).head_dim) : pair.b;
    builder.add_tensor(name + "a", {pair.a.size() / pair.rank, pair.rank}, type,
                       number_bytes(format, pair.a));
    builder.add_tensor(name + "b", {pair.rank, pair.b.size() / pair.rank}, type,
                       number_bytes(format, b));
  }
  return builder;
}

}  // namespace quire::test
