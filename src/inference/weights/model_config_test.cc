#include "inference/weights/model_config.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "support/golden.h"

namespace quire::inference {
namespace {

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
    EXPECT_EQ(published.value().rope.theta, newer.value().rope.theta);
    EXPECT_EQ(published.value().rope.factors, newer.value().rope.factors);
    EXPECT_EQ(published.value().head_dim, newer.value().head_dim);
    EXPECT_EQ(published.value().has_qkv_bias, newer.value().has_qkv_bias);
  }
}

TEST(ModelConfig, ReadsLinearScalingUnderBothOfItsNames) {
  for (const char* key : {"rope_type", "type"}) {
    const json config = llama_with({{"rope_scaling", nullptr}});
    json linear = config;
    linear["rope_scaling"] = {{key, "linear"}, {"factor", 2.5}};
    Result<ModelSpec> spec = parse(linear);
    ASSERT_TRUE(spec.ok()) << spec.error().message();
    EXPECT_EQ(spec.value().rope.factors, std::vector<float>(8, 2.5f));
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

TEST(ModelConfig, ReadsMistralAsLlamaWithAWindow) {
  Result<ModelSpec> mistral =
      parse(llama_with({{"model_type", "mistral"}, {"sliding_window", 4096}}));
  ASSERT_TRUE(mistral.ok()) << mistral.error().message();
  EXPECT_EQ(mistral.value().architecture, "llama");
  EXPECT_EQ(mistral.value().sliding_window, 4096u);
}

TEST(ModelConfig, KeepsQwensWindowOffUnlessItIsSwitchedOn) {
  json qwen = golden_config("tiny_qwen2/config.json");
  qwen["sliding_window"] = 32;
  EXPECT_EQ(parse(qwen).value().sliding_window, 0u);
  qwen["use_sliding_window"] = true;
  EXPECT_EQ(parse(qwen).value().sliding_window, 0u) << "layer_types says full attention";
  qwen["layer_types"] = {"sliding_attention", "sliding_attention"};
  EXPECT_EQ(parse(qwen).value().sliding_window, 32u);
  qwen["layer_types"] = {"full_attention", "sliding_attention"};
  expect_refused(qwen, ErrorCode::NotSupported, "in some layers only");
  qwen.erase("layer_types");
  qwen["max_window_layers"] = 1;
  expect_refused(qwen, ErrorCode::NotSupported, "in some layers only");
  qwen["max_window_layers"] = 2;
  EXPECT_EQ(parse(qwen).value().sliding_window, 0u);
  qwen["max_window_layers"] = 0;
  EXPECT_EQ(parse(qwen).value().sliding_window, 32u);
}

TEST(ModelConfig, DerivesWhatOlderFilesLeaveOut) {
  Result<ModelSpec> spec = parse(llama_with({{"head_dim", nullptr},
                                             {"num_key_value_heads", nullptr},
                                             {"tie_word_embeddings", nullptr},
                                             {"rope_theta", nullptr},
                                             {"rope_scaling", nullptr}}));
  ASSERT_TRUE(spec.ok()) << spec.error().message();
  EXPECT_EQ(spec.value().head_dim, 16u);
  EXPECT_EQ(spec.value().kv_head_count, 8u);
  EXPECT_FALSE(spec.value().tied_embeddings);
  EXPECT_EQ(spec.value().rope.theta, 10000.0);
}

TEST(ModelConfig, CollectsStopTokensFromBothFiles) {
  Result<ModelSpec> spec =
      parse(llama_with({{"eos_token_id", {9, 5}}}), {{"eos_token_id", 7}, {"bos_token_id", 1}});
  ASSERT_TRUE(spec.ok()) << spec.error().message();
  EXPECT_EQ(spec.value().stop_ids, (std::vector<TokenId>{TokenId{5}, TokenId{7}, TokenId{9}}));
  EXPECT_EQ(spec.value().eos_id, 9);
  expect_refused(llama_with({{"eos_token_id", "x"}}), ErrorCode::Corrupted, "is no token id");
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
  expect_refused(llama_with({{"rms_norm_eps", 1e308}}), ErrorCode::Corrupted, "rms epsilon");
  expect_refused(llama_with({{"num_key_value_heads", 3}}), ErrorCode::Corrupted, "no multiple");
  expect_refused(llama_with({{"vocab_size", nullptr}}), ErrorCode::NotFound,
                 "\"vocab_size\" is missing");
}

}  // namespace
}  // namespace quire::inference
