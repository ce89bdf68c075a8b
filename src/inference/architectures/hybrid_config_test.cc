// Checkpoints of models with recurrent layers: what config.json and the names of tensors mean.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "inference/architectures/model_config.h"
#include "support/hybrid_files.h"

namespace quire::inference::hybrid_config_test {
namespace {

using nlohmann::json;
using test::HybridFolder;
using test::HybridShape;

Result<ModelSpec> parse(const json& config) {
  ConfigTexts texts;
  texts.config = config.dump();
  texts.folder = "/models/test";
  return parse_model_config(texts);
}

json config_with(const json& members, const HybridShape& shape = {}) {
  json config = test::hybrid_config(shape);
  config.merge_patch(members);
  return config;
}

void expect_refused(const json& config, ErrorCode code, const std::string& says) {
  Result<ModelSpec> spec = parse(config);
  ASSERT_FALSE(spec.ok()) << "accepted; expected: " << says;
  EXPECT_EQ(spec.error().code(), code) << spec.error().message();
  EXPECT_NE(spec.error().message().find(says), std::string::npos) << spec.error().message();
}

std::unique_ptr<ModelFiles> gguf_of(const HybridShape& shape) {
  test::GgufBuilder builder;
  const std::string prefix = shape.architecture() + ".";
  builder.add_text("general.architecture", shape.architecture());
  builder.add_f32(prefix + "attention.layer_norm_rms_epsilon", 1e-6f);
  builder.add_f32(prefix + "rope.freq_base", 1e7f);
  for (const auto& [key, value] : test::hybrid_keys(shape)) builder.add_u32(prefix + key, value);
  for (const auto& tensor : test::hybrid_gguf_tensors(shape)) {
    test::add_hybrid_tensor(builder, tensor);
  }
  auto model =
      open_gguf_model(std::make_shared<MemorySource>("memory", test::to_bytes(builder.build())));
  EXPECT_TRUE(model.ok()) << model.error().message();
  return model.ok() ? std::move(model).take() : nullptr;
}

// All but what names the model.
void expect_equal(const ModelSpec& one, const ModelSpec& other) {
  EXPECT_EQ(one.architecture, other.architecture);
  EXPECT_EQ(one.layers, other.layers);
  EXPECT_EQ(one.vocabulary_size, other.vocabulary_size);
  EXPECT_EQ(one.context_length, other.context_length);
  EXPECT_EQ(one.embedding_width, other.embedding_width);
  EXPECT_EQ(one.rms_epsilon, other.rms_epsilon);
  EXPECT_EQ(one.tied_embeddings, other.tied_embeddings);
  EXPECT_EQ(one.ropes.front().theta, other.ropes.front().theta);
  EXPECT_EQ(one.ropes.front().factors, other.ropes.front().factors);
}

// If value heads outnumber key heads, GGUF has them in another order, and the specs say so.
TEST(HybridConfig, GivesTheSpecOfTheGgufFile) {
  for (const bool is_mixture : {false, true}) {
    const HybridShape shape{is_mixture, 2};
    const auto gguf = gguf_of(shape);
    ASSERT_NE(gguf, nullptr);
    for (const json& config : {test::hybrid_config(shape), test::nested_config(shape)}) {
      const Result<ModelSpec> spec = parse(config);
      ASSERT_TRUE(spec.ok()) << spec.error().message();
      expect_equal(spec.value(), gguf->spec());
    }
  }
  const HybridShape grouped{false, 4};
  EXPECT_FALSE(parse(test::hybrid_config(grouped)).value().layers[0].delta_net()->has_tiled_heads);
  EXPECT_TRUE(gguf_of(grouped)->spec().layers[0].delta_net()->has_tiled_heads);
}

TEST(HybridConfig, TakesTheValuesOfTheClassWhereTheFileHasNone) {
  json config = test::hybrid_config({});
  for (const char* key :
       {"linear_conv_kernel_dim", "linear_key_head_dim", "linear_value_head_dim",
        "linear_num_key_heads", "linear_num_value_heads", "head_dim", "rope_parameters"}) {
    config.erase(key);
  }
  const Result<ModelSpec> spec = parse(config);
  ASSERT_TRUE(spec.ok()) << spec.error().message();
  EXPECT_EQ(*spec.value().layers[0].delta_net(), (DeltaNetSpec{16, 32, 128, 128, 4, false}));
  EXPECT_EQ(spec.value().layers[3].attention()->head_dim, 256u);
  EXPECT_EQ(spec.value().layers[3].attention()->rotary_dim, 64u);
  config["partial_rotary_factor"] = 0.5;
  EXPECT_EQ(parse(config).value().layers[3].attention()->rotary_dim, 128u);
  config["rope_parameters"] = {{"rope_type", "default"}, {"partial_rotary_factor", 1.0}};
  EXPECT_EQ(parse(config).value().layers[3].attention()->rotary_dim, 0u);
}

TEST(HybridConfig, LayerTypesComeBeforeTheInterval) {
  const auto kinds = [](const json& members) {
    const Result<ModelSpec> spec = parse(config_with(members));
    EXPECT_TRUE(spec.ok()) << spec.error().message();
    std::string text;
    for (const LayerSpec& layer : spec.value().layers) text += layer.delta_net() ? 'r' : 'a';
    return text;
  };
  const json list = {"full_attention", "linear_attention", "linear_attention", "full_attention"};
  EXPECT_EQ(kinds(json::object()), "rrra");
  EXPECT_EQ(kinds({{"full_attention_interval", 2}}), "rara");
  EXPECT_EQ(kinds({{"full_attention_interval", 2}, {"layer_types", list}}), "arra");
  EXPECT_EQ(kinds({{"full_attention_interval", 1}}), "aaaa");
}

TEST(HybridConfig, WhatChangesTheOutputAndIsNotComputedIsRefusedByName) {
  expect_refused(config_with({{"attn_output_gate", false}}), ErrorCode::NotSupported,
                 "attn_output_gate is false");
  expect_refused(config_with({{"hidden_act", "gelu"}}), ErrorCode::NotSupported, "hidden_act");
  expect_refused(config_with({{"layer_types",
                               {"linear_attention", "sliding_attention", "linear_attention",
                                "full_attention"}}}),
                 ErrorCode::NotSupported, "sliding_attention");
  expect_refused(config_with({{"layer_types", {"full_attention"}}}), ErrorCode::Corrupted,
                 "\"layer_types\" is not a list of 4 layers");
  expect_refused(config_with({{"full_attention_interval", 0}}), ErrorCode::Corrupted,
                 "\"full_attention_interval\" is 0");
  expect_refused(config_with({{"full_attention_interval", 5}}), ErrorCode::NotSupported,
                 "none of the 4 layers attends");
  expect_refused(config_with({{"linear_conv_kernel_dim", 9}}), ErrorCode::NotSupported,
                 "the convolution is 9 rows wide");
  expect_refused(config_with({{"linear_num_key_heads", 0}}), ErrorCode::Corrupted,
                 "recurrent key head count is 0");
  expect_refused(config_with({{"linear_num_value_heads", 3}}), ErrorCode::Corrupted,
                 "recurrent value head count 3 is not a multiple");
  expect_refused(config_with({{"linear_value_head_dim", 20}}), ErrorCode::NotSupported,
                 "recurrent value head_dim is 20");
  for (const double factor : {0.0, -0.25, 1.5, 1e-3}) {
    expect_refused(config_with({{"rope_parameters", {{"partial_rotary_factor", factor}}}}),
                   ErrorCode::Corrupted, "partial_rotary_factor is");
  }
  expect_refused(config_with({{"rope_parameters", {{"partial_rotary_factor", 0.1}}}}),
                 ErrorCode::Corrupted, "RoPE turns 3 numbers of a head of 32");
  expect_refused(config_with({{"num_experts", 0}}, {.is_mixture = true}), ErrorCode::Corrupted,
                 "expert count is 0");
}

TEST(HybridConfig, MembersBesideTextConfigCount) {
  const auto with = [](const json& members) {
    json config = test::nested_config({});
    config.merge_patch(members);
    return config;
  };
  EXPECT_TRUE(parse(with(json::object())).value().tied_embeddings);
  EXPECT_FALSE(parse(with({{"tie_word_embeddings", false}})).value().tied_embeddings);
  EXPECT_EQ(parse(with({{"eos_token_id", 3}})).value().eos_id, 3);
  EXPECT_EQ(parse(with({{"text_config", {{"eos_token_id", 5}}}})).value().eos_id, 5);
  expect_refused(with({{"quantization_config", {{"quant_method", "fp8"}}}}),
                 ErrorCode::NotSupported, "quant_method \"fp8\"");
  expect_refused(with({{"text_config", nullptr}}), ErrorCode::NotFound,
                 "\"text_config\" is missing");
  expect_refused(with({{"text_config", {{"model_type", "qwen3"}}}}), ErrorCode::NotSupported,
                 "\"text_config\": model_type is \"qwen3\"; \"qwen3_5_text\" is supported");
  expect_refused(with({{"architectures", {"Qwen3_5ForSequenceClassification"}}}),
                 ErrorCode::NotSupported, "Qwen3_5ForSequenceClassification");
}

TEST(HybridConfig, PartsOfACheckpointThatReadImagesOrDraftTokensAreLeftOutAndCounted) {
  for (const bool is_mixture : {false, true}) {
    const HybridShape shape{is_mixture, 4};
    auto tensors = test::hybrid_checkpoint_tensors(shape, "model.language_model.");
    const std::size_t count = tensors.size();
    tensors.push_back({"model.visual.patch_embed.proj.weight", {4, 3, 2, 2, 2}});
    tensors.push_back({"model.visual.pos_embed.weight", {2, 8}});
    tensors.push_back({"mtp.fc.weight", {32, 64}});
    const HybridFolder folder(test::nested_config(shape), tensors);
    const auto model = folder.open();
    ASSERT_TRUE(model.ok()) << model.error().message();
    // Each layer of a mixture has two stacks, which are three tensors of four experts.
    EXPECT_EQ(model.value()->weights().tensor_count(), count + (is_mixture ? 4 * (12 - 2) : 0));
    const auto& left_out = model.value()->weights().left_out();
    ASSERT_EQ(left_out.size(), 2u);
    EXPECT_EQ(left_out[0].part, "block that drafts tokens");
    EXPECT_EQ(left_out[0].bytes, 32u * 64 * 4);
    EXPECT_EQ(left_out[1].part, "vision tower");
    EXPECT_EQ(left_out[1].tensor_count, 2u);
    EXPECT_EQ(left_out[1].bytes, (96u + 16) * 4);
  }
  auto tensors = test::hybrid_checkpoint_tensors({}, "model.language_model.");
  tensors.push_back({"model.audio.weight", {32}});
  const HybridFolder folder(test::nested_config({}), tensors);
  const auto model = folder.open();
  ASSERT_FALSE(model.ok());
  EXPECT_NE(model.error().message().find("no use for the tensor \"model.audio.weight\""),
            std::string::npos)
      << model.error().message();
}

TEST(HybridConfig, ConvolutionsHaveOneRowForEachChannelInBothFormats) {
  auto tensors = test::hybrid_checkpoint_tensors({}, "model.");
  for (test::ShapedTensor& each : tensors) {
    if (each.name == "model.layers.1.linear_attn.conv1d.weight") each.dimensions = {96, 2, 4};
  }
  const auto refused = HybridFolder(test::hybrid_config({}), tensors).open();
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message().find("has 96 times 2 rows of 4 numbers; the model's shape "
                                           "wants 96 rows of 4 numbers"),
            std::string::npos)
      << refused.error().message();
}

TEST(HybridConfig, NumbersThatACheckpointStoresOtherwiseAreMarkedAndInTheDigest) {
  const HybridFolder folder(test::hybrid_config({}), test::hybrid_checkpoint_tensors({}, "model."));
  const auto model = folder.open();
  ASSERT_TRUE(model.ok()) << model.error().message();
  const WeightSource& weights = model.value()->weights();
  const auto transform = [&](TensorRole role, std::uint32_t layer) {
    return weights.find(role, layer)->transform;
  };
  using enum ValueTransform;
  EXPECT_EQ(transform(TensorRole::OutputNorm, 0), PlusOne);
  EXPECT_EQ(transform(TensorRole::AttentionNorm, 0), PlusOne);
  EXPECT_EQ(transform(TensorRole::FeedForwardNorm, 3), PlusOne);
  EXPECT_EQ(transform(TensorRole::AttentionQNorm, 3), PlusOne);
  EXPECT_EQ(transform(TensorRole::AttentionKNorm, 3), PlusOne);
  EXPECT_EQ(transform(TensorRole::DeltaNorm, 0), None);
  EXPECT_EQ(transform(TensorRole::DeltaDecay, 0), NegatedExponential);
  EXPECT_EQ(transform(TensorRole::DeltaDecayBias, 0), None);

  TensorInfo tensor = *weights.find(TensorRole::OutputNorm);
  std::set<std::string> digests;
  for (const ValueTransform each : {None, PlusOne, NegatedExponential}) {
    tensor.transform = each;
    ModelDigester digester(model.value()->spec());
    digester.begin_tensor(tensor);
    digests.insert(hex(digester.finish()));
  }
  EXPECT_EQ(digests.size(), 3u);
}

TEST(HybridConfig, EachNumberOfALayerIsInTheDigest) {
  ModelSpec spec = parse(test::hybrid_config({})).value();
  std::set<std::string> digests;
  const auto add = [&] { digests.insert(hex(ModelDigester(spec).finish())); };
  add();
  for (std::uint32_t DeltaNetSpec::* number :
       {&DeltaNetSpec::key_head_count, &DeltaNetSpec::value_head_count, &DeltaNetSpec::key_dim,
        &DeltaNetSpec::value_dim, &DeltaNetSpec::convolution_width}) {
    std::get<DeltaNetSpec>(spec.layers[1].mixer).*number += 16;
    add();
  }
  std::get<DeltaNetSpec>(spec.layers[1].mixer).has_tiled_heads = true;
  add();
  spec.layers[3].attention()->rotary_dim = 16;
  add();
  spec.layers[3].attention()->has_gate = false;
  add();
  EXPECT_EQ(digests.size(), 9u);
}

}  // namespace
}  // namespace quire::inference::hybrid_config_test
