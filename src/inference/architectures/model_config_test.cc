#include "inference/architectures/model_config.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "support/first_layer.h"
#include "support/golden.h"

namespace quire::inference {
namespace {

using test::attention_of;

using nlohmann::json;

json golden_config(const std::string& file) {
  return json::parse(read_file(test::golden_path(file), 1 << 20).value());
}

Result<ModelSpec> parse(const json& config, const json& generation = nullptr) {
  ConfigTexts texts;
  texts.config = config.dump();
  if (!generation.is_null()) texts.generation_config = generation.dump();
  texts.folder = "/models/test";
  return parse_model_config(texts);
}

// tiny_llama's configuration with some members replaced; null removes one.
json llama_with(const json& members) {
  json config = golden_config("tiny_llama/config.json");
  config.merge_patch(members);
  return config;
}

void expect_refused(const json& config, ErrorCode code, const std::string& says) {
  Result<ModelSpec> spec = parse(config);
  ASSERT_FALSE(spec.ok()) << "accepted; expected: " << says;
  EXPECT_EQ(spec.error().code(), code) << spec.error().message();
  EXPECT_NE(spec.error().message().find(says), std::string::npos) << spec.error().message();
}

TEST(ModelConfig, ReadsBothFormsAlike) {
  for (const std::string model : {"tiny_llama", "tiny_qwen2", "tiny_qwen3"}) {
    Result<ModelSpec> published = parse(golden_config(model + "/config.json"));
    Result<ModelSpec> newer = parse(golden_config(model + "/config_v5.json"));
    ASSERT_TRUE(published.ok()) << published.error().message();
    ASSERT_TRUE(newer.ok()) << newer.error().message();
    EXPECT_EQ(published.value().ropes.front().theta, newer.value().ropes.front().theta);
    EXPECT_EQ(published.value().ropes.front().factors, newer.value().ropes.front().factors);
    EXPECT_EQ(attention_of(published.value()).head_dim, attention_of(newer.value()).head_dim);
    EXPECT_EQ(attention_of(published.value()).has_qkv_bias,
              attention_of(newer.value()).has_qkv_bias);
  }
}

TEST(ModelConfig, ReadsLinearScalingUnderBothOfItsNames) {
  for (const char* key : {"rope_type", "type"}) {
    const json config = llama_with({{"rope_scaling", nullptr}});
    json linear = config;
    linear["rope_scaling"] = {{key, "linear"}, {"factor", 2.5}};
    Result<ModelSpec> spec = parse(linear);
    ASSERT_TRUE(spec.ok()) << spec.error().message();
    EXPECT_EQ(spec.value().ropes.front().factors, std::vector<float>(8, 2.5f));
  }
}

TEST(ModelConfig, RefusesScalingsThatItCannotCompute) {
  json yarn = llama_with({{"rope_scaling", nullptr}});
  yarn["rope_scaling"] = {{"rope_type", "yarn"}, {"factor", 4.0}};
  expect_refused(yarn, ErrorCode::NotSupported, "rope_type is \"yarn\"");
  expect_refused(llama_with({{"rope_scaling", {{"factor", 0.5}}}}), ErrorCode::Corrupted,
                 "llama3 scaling wants factor >= 1");
  expect_refused(llama_with({{"rope_scaling", {{"factor", nullptr}}}}), ErrorCode::NotFound,
                 "\"factor\" is missing");
  expect_refused(llama_with({{"rope_theta", 0.0}}), ErrorCode::Corrupted, "rope theta");
  expect_refused(llama_with({{"partial_rotary_factor", 0.5}}), ErrorCode::NotSupported,
                 "partial_rotary_factor");
}

json with_rope(const char* key, const json& rope) {
  json config = llama_with({{"rope_scaling", nullptr}, {"rope_parameters", nullptr}});
  config[key] = rope;
  return config;
}

// The values are those of transformers 5.24.
TEST(ModelConfig, ReadsRopeAsTransformersDoes) {
  const auto factors = [](const json& config) {
    Result<ModelSpec> spec = parse(config);
    EXPECT_TRUE(spec.ok()) << spec.error().message();
    return spec.ok() ? spec.value().ropes.front().factors : std::vector<float>();
  };
  const std::vector<float> twice(8, 2.0f);
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    EXPECT_EQ(factors(with_rope(key, {{"rope_type", "linear"}, {"factor", 2}})), twice) << key;
    EXPECT_EQ(factors(with_rope(key, {{"type", "linear"}, {"factor", 2.0}})), twice) << key;
    EXPECT_EQ(factors(with_rope(key, {{"rope_type", "linear"}, {"type", "yarn"}, {"factor", 2.0}})),
              twice)
        << key << ": rope_type counts";
    EXPECT_TRUE(factors(with_rope(key, {{"rope_type", "default"}, {"factor", 2.0}})).empty())
        << key;
    EXPECT_TRUE(factors(with_rope(key, json::object())).empty()) << key;
    EXPECT_TRUE(factors(with_rope(key, {{"factor", 1.0}})).empty()) << key;
    json inner = with_rope(key, {{"rope_type", "default"}, {"rope_theta", 5e5}});
    inner["rope_theta"] = 1e4;
    EXPECT_EQ(parse(inner).value().ropes.front().theta, 5e5) << key;
  }
  json both = with_rope("rope_scaling", {{"rope_type", "linear"}, {"factor", 2.0}});
  both["rope_parameters"] = {{"rope_type", "default"}};
  EXPECT_EQ(factors(both), twice) << "rope_scaling counts";
  // Without original_max_position_embeddings, max_position_embeddings counts.
  json llama3 = {{"rope_type", "llama3"},
                 {"factor", 8.0},
                 {"low_freq_factor", 1.0},
                 {"high_freq_factor", 4.0}};
  const std::vector<float> derived = factors(with_rope("rope_scaling", llama3));
  llama3["original_max_position_embeddings"] = 2048;
  EXPECT_EQ(derived, factors(with_rope("rope_scaling", llama3)));
}

TEST(ModelConfig, RefusesRopeThatReadersDisagreeAbout) {
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    expect_refused(with_rope(key, {{"factor", 4.0}}), ErrorCode::NotSupported,
                   "a factor without a rope_type");
    expect_refused(with_rope(key, {{"rope_type", nullptr}, {"factor", 4.0}}),
                   ErrorCode::NotSupported, "a factor without a rope_type");
    expect_refused(with_rope(key, {{"full_attention", {{"rope_type", "linear"}, {"factor", 2.0}}}}),
                   ErrorCode::NotSupported, "RoPE of its own for \"full_attention\"");
    expect_refused(with_rope(key, {{"rope_type", "default"}, {"partial_rotary_factor", 0.5}}),
                   ErrorCode::NotSupported, "partial_rotary_factor");
    for (const char* kind : {"yarn", "dynamic", "longrope", "su", "mrope", "proportional", ""}) {
      expect_refused(with_rope(key, {{"rope_type", kind}, {"factor", 4.0}}),
                     ErrorCode::NotSupported, "rope_type is \"" + std::string(kind) + "\"");
    }
    for (const json& factor : {json(0.0), json(-2.0), json(1e300)}) {
      expect_refused(with_rope(key, {{"rope_type", "linear"}, {"factor", factor}}),
                     ErrorCode::Corrupted, "a rope factor is");
    }
    expect_refused(with_rope(key, {{"rope_type", "linear"}, {"factor", "2"}}), ErrorCode::Corrupted,
                   "\"factor\" is of the type string where a number was expected");
    expect_refused(with_rope(key, {{"rope_type", 3}}), ErrorCode::Corrupted, "\"rope_type\" is 3");
    expect_refused(with_rope(key, {{"rope_type", "linear"}}), ErrorCode::NotFound,
                   "\"factor\" is missing");
    expect_refused(with_rope(key, json::array()), ErrorCode::Corrupted, key);
  }
  for (const json& theta : {json(0.0), json(-1e4), json(1e300)}) {
    expect_refused(llama_with({{"rope_theta", theta}}), ErrorCode::Corrupted, "rope theta");
  }
}

TEST(ModelConfig, ReadsMistralAsLlamaWithAWindow) {
  Result<ModelSpec> mistral =
      parse(llama_with({{"model_type", "mistral"}, {"sliding_window", 4096}}));
  ASSERT_TRUE(mistral.ok()) << mistral.error().message();
  EXPECT_EQ(mistral.value().architecture, "llama");
  EXPECT_EQ(attention_of(mistral.value()).sliding_window, 4096u);
}

std::vector<std::uint32_t> windows_of(const ModelSpec& spec) {
  std::vector<std::uint32_t> windows;
  for (const LayerSpec& layer : spec.layers) windows.push_back(layer.attention()->sliding_window);
  return windows;
}

TEST(ModelConfig, KeepsQwensWindowOffUnlessItIsSwitchedOn) {
  json qwen = golden_config("tiny_qwen2/config.json");
  qwen["sliding_window"] = 32;
  EXPECT_EQ(attention_of(parse(qwen).value()).sliding_window, 0u);
  qwen["use_sliding_window"] = true;
  EXPECT_EQ(attention_of(parse(qwen).value()).sliding_window, 0u)
      << "layer_types says full attention";
  qwen["layer_types"] = {"sliding_attention", "sliding_attention"};
  EXPECT_EQ(attention_of(parse(qwen).value()).sliding_window, 32u);
  qwen["layer_types"] = {"full_attention", "sliding_attention"};
  EXPECT_EQ(windows_of(parse(qwen).value()), (std::vector<std::uint32_t>{0, 32}));
  qwen.erase("layer_types");
  qwen["max_window_layers"] = 1;
  EXPECT_EQ(windows_of(parse(qwen).value()), (std::vector<std::uint32_t>{0, 32}));
  qwen["max_window_layers"] = 2;
  EXPECT_EQ(attention_of(parse(qwen).value()).sliding_window, 0u);
  qwen["max_window_layers"] = 0;
  EXPECT_EQ(attention_of(parse(qwen).value()).sliding_window, 32u);
}

// Members that the class of an architecture does not have are ignored, as in transformers.
TEST(ModelConfig, IgnoresMembersThatTheArchitectureDoesNotRead) {
  const ModelSpec plain = parse(golden_config("tiny_llama/config.json")).value();
  for (const json& leftover :
       {json{{"sliding_window", 24}}, json{{"sliding_window", 24}, {"use_sliding_window", true}},
        json{{"layer_types", json::array({"sliding_attention"})}}, json{{"max_window_layers", 0}},
        json{{"embedding_multiplier", 12.0}, {"residual_multiplier", 0.22}},
        json{{"attention_multiplier", 0.5}, {"logits_scaling", 8.0}},
        json{{"final_logit_softcapping", 30.0}, {"attn_logit_softcapping", 50.0}},
        json{
            {"rope_interleaved", true}, {"pretraining_tp", 2}, {"quantization_config", nullptr}}}) {
    Result<ModelSpec> spec = parse(llama_with(leftover));
    ASSERT_TRUE(spec.ok()) << spec.error().message();
    EXPECT_EQ(attention_of(spec.value()).sliding_window, 0u) << leftover;
    EXPECT_EQ(spec.value().ropes.front().factors, plain.ropes.front().factors) << leftover;
  }
  // Mistral has no biases and Qwen 2 always has three.
  Result<ModelSpec> mistral = parse(llama_with({{"model_type", "mistral"},
                                                {"attention_bias", true},
                                                {"mlp_bias", true},
                                                {"use_sliding_window", false},
                                                {"sliding_window", 24}}));
  ASSERT_TRUE(mistral.ok()) << mistral.error().message();
  EXPECT_FALSE(attention_of(mistral.value()).has_qkv_bias);
  EXPECT_EQ(attention_of(mistral.value()).sliding_window, 24u);
  json qwen2 = golden_config("tiny_qwen2/config.json");
  qwen2["attention_bias"] = false;
  qwen2["mlp_bias"] = true;
  Result<ModelSpec> qwen = parse(qwen2);
  ASSERT_TRUE(qwen.ok()) << qwen.error().message();
  EXPECT_TRUE(attention_of(qwen.value()).has_qkv_bias);
  EXPECT_FALSE(attention_of(qwen.value()).has_output_bias);
}

TEST(ModelConfig, TakesTheWindowOfMistralsClassWhereTheFileNamesNone) {
  EXPECT_EQ(attention_of(parse(llama_with({{"model_type", "mistral"}})).value()).sliding_window,
            4096u);
  json without = llama_with({{"model_type", "mistral"}});
  without["sliding_window"] = nullptr;
  EXPECT_EQ(attention_of(parse(without).value()).sliding_window, 0u);
  expect_refused(llama_with({{"model_type", "mistral"}, {"sliding_window", 0}}),
                 ErrorCode::Corrupted, "\"sliding_window\" is 0");
  json mixed = llama_with({{"model_type", "mistral"}, {"sliding_window", 16}});
  mixed["layer_types"] = {"full_attention", "full_attention", "full_attention", "full_attention"};
  expect_refused(mixed, ErrorCode::NotSupported, "full_attention beside a sliding_window");
}

TEST(ModelConfig, TakesTheHeadDimOfQwen3sClassWhereTheFileNamesNone) {
  json qwen3 = golden_config("tiny_qwen3/config.json");
  qwen3.erase("head_dim");
  EXPECT_EQ(attention_of(parse(qwen3).value()).head_dim, 128u);
}

TEST(ModelConfig, RefusesLayersThatSlideWithoutAWindow) {
  json qwen = golden_config("tiny_qwen2/config.json");
  qwen["layer_types"] = {"sliding_attention", "sliding_attention"};
  qwen["sliding_window"] = 32;
  qwen["use_sliding_window"] = false;
  expect_refused(qwen, ErrorCode::Corrupted, "switched off");
  qwen["use_sliding_window"] = true;
  qwen["layer_types"] = {"sliding_attention"};
  expect_refused(qwen, ErrorCode::Corrupted, "is not a list of 2 layers");
  qwen["layer_types"] = {"sliding_attention", "chunked_attention"};
  expect_refused(qwen, ErrorCode::NotSupported, "chunked_attention");
  qwen.erase("layer_types");
  qwen.erase("max_window_layers");  // 28 in Qwen's class, and so beyond these layers.
  EXPECT_EQ(attention_of(parse(qwen).value()).sliding_window, 0u);
}

TEST(ModelConfig, RefusesQuantizedCheckpointsByTheirMethod) {
  expect_refused(llama_with({{"quantization_config", {{"quant_method", "gptq"}, {"bits", 4}}}}),
                 ErrorCode::NotSupported, "quant_method \"gptq\"");
}

TEST(ModelConfig, TakesSwishForSilu) {
  EXPECT_TRUE(parse(llama_with({{"hidden_act", "swish"}})).ok());
}

TEST(ModelConfig, DerivesWhatOlderFilesLeaveOut) {
  Result<ModelSpec> spec = parse(llama_with({{"head_dim", nullptr},
                                             {"num_key_value_heads", nullptr},
                                             {"tie_word_embeddings", nullptr},
                                             {"rope_theta", nullptr},
                                             {"rope_scaling", nullptr}}));
  ASSERT_TRUE(spec.ok()) << spec.error().message();
  EXPECT_EQ(attention_of(spec.value()).head_dim, 16u);
  EXPECT_EQ(attention_of(spec.value()).kv_head_count, 8u);
  EXPECT_FALSE(spec.value().tied_embeddings);
  EXPECT_EQ(spec.value().ropes.front().theta, 10000.0);
}

TEST(ModelConfig, CollectsStopTokensFromBothFiles) {
  Result<ModelSpec> spec =
      parse(llama_with({{"eos_token_id", {9, 5}}}), {{"eos_token_id", 7}, {"bos_token_id", 1}});
  ASSERT_TRUE(spec.ok()) << spec.error().message();
  EXPECT_EQ(spec.value().stop_ids, (std::vector<TokenId>{TokenId{5}, TokenId{7}, TokenId{9}}));
  EXPECT_EQ(spec.value().eos_id, 9);
  for (const json& id : {json("x"), json(-1), json(1.5), json(4294967296), json(true),
                         json::array({1, -2}), json::array({json::array()})}) {
    expect_refused(llama_with({{"eos_token_id", id}}), ErrorCode::Corrupted, "is not a token id");
  }
  expect_refused(llama_with({{"eos_token_id", 1024}}), ErrorCode::Corrupted,
                 "beyond the vocabulary of 1024");
}

TEST(ModelConfig, NamesWhatItDoesNotSupport) {
  expect_refused(llama_with({{"model_type", "gpt_neox"}}), ErrorCode::NotSupported,
                 "model_type is \"gpt_neox\"");
  expect_refused(llama_with({{"hidden_act", "gelu"}}), ErrorCode::NotSupported, "hidden_act");
  expect_refused(llama_with({{"mlp_bias", true}}), ErrorCode::NotSupported, "mlp_bias");
  expect_refused(llama_with({{"head_dim", 24}}), ErrorCode::NotSupported, "head_dim is 24");
  expect_refused(llama_with({{"head_dim", 272}}), ErrorCode::NotSupported, "head_dim is 272");
  expect_refused(llama_with({{"num_attention_heads", 34}}), ErrorCode::NotSupported,
                 "17 heads share a kv head");
}

TEST(ModelConfig, RefusesNumbersBeyondReason) {
  for (const char* key :
       {"vocab_size", "max_position_embeddings", "hidden_size", "num_hidden_layers",
        "intermediate_size", "num_attention_heads", "num_key_value_heads", "head_dim"}) {
    for (const json& value : {json(0), json(4294967295u), json(-1), json(1.5), json("x"),
                              json(18446744073709551615u)}) {
      EXPECT_FALSE(parse(llama_with({{key, value}})).ok()) << key << " = " << value;
    }
  }
  for (const json& epsilon : {json(1e308), json(0), json(-1e-5)}) {
    expect_refused(llama_with({{"rms_norm_eps", epsilon}}), ErrorCode::Corrupted, "rms epsilon");
  }
  expect_refused(llama_with({{"vocab_size", 4096.0}}), ErrorCode::Corrupted,
                 "\"vocab_size\" is 4096.0 where an integer of 0 to 2^32 - 1 was expected");
  expect_refused(llama_with({{"num_key_value_heads", 3}}), ErrorCode::Corrupted, "not a multiple");
  expect_refused(llama_with({{"vocab_size", nullptr}}), ErrorCode::NotFound,
                 "\"vocab_size\" is missing");
}

TEST(ModelConfig, ReadsTheNormsOfOlmo2AndTheRopeOfSmolLm3) {
  const auto olmo2 = parse(llama_with({{"model_type", "olmo2"}}));
  ASSERT_TRUE(olmo2.ok()) << olmo2.error().message();
  for (const LayerSpec& layer : olmo2.value().layers) {
    EXPECT_EQ(layer.norms, NormPlace::After);
    EXPECT_EQ(layer.attention()->qk_norm, QkNorm::WholeWidth);
  }
  const auto turned = [](const json& members) {
    const auto spec = parse(llama_with(members));
    std::vector<bool> each;
    for (const LayerSpec& layer : spec.value().layers) {
      each.push_back(layer.attention()->rope.has_value());
    }
    return each;
  };
  EXPECT_EQ(turned({{"model_type", "smollm3"}}), (std::vector<bool>{true, true, true, false}));
  EXPECT_EQ(turned({{"model_type", "smollm3"}, {"no_rope_layers", {0, 1, 1, 0, 1}}}),
            (std::vector<bool>{false, true, true, false}));
  expect_refused(llama_with({{"model_type", "smollm3"}, {"no_rope_layers", {1, 1}}}),
                 ErrorCode::Corrupted, "no_rope_layers");
  expect_refused(llama_with({{"model_type", "smollm3"}, {"no_rope_layer_interval", 0}}),
                 ErrorCode::NotSupported, "no_rope_layer_interval");
}

}  // namespace
}  // namespace quire::inference
