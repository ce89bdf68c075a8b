// GGUF files of models with recurrent layers that contradict themselves: the error names the key
// or the tensor.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "support/hybrid_files.h"

namespace quire::inference::hostile_hybrid_test {
namespace {

using test::GgufBuilder;
using test::HybridShape;
using test::ShapedTensor;

struct Hybrid {
  HybridShape shape = {};
  std::map<std::string, std::optional<std::uint32_t>> keys = {};  // Nothing: the file lacks it.
  std::function<void(GgufBuilder&)> change = {};                  // Adds keys.
  std::vector<std::string> without = {};                          // Tensors that the file lacks.
  std::vector<ShapedTensor> with = {};                            // Those that it has more.
};

Result<std::unique_ptr<ModelFiles>> opened(const Hybrid& hybrid) {
  const std::string prefix = hybrid.shape.architecture() + ".";
  GgufBuilder builder;
  builder.add_text("general.architecture", hybrid.shape.architecture());
  builder.add_f32(prefix + "attention.layer_norm_rms_epsilon", 1e-6f);
  builder.add_f32(prefix + "rope.freq_base", 1e7f);
  std::map<std::string, std::uint32_t> keys = test::hybrid_keys(hybrid.shape);
  for (const auto& [key, value] : hybrid.keys) {
    if (value) keys[key] = *value;
    if (!value) keys.erase(key);
  }
  for (const auto& [key, value] : keys) builder.add_u32(prefix + key, value);
  if (hybrid.change) hybrid.change(builder);
  for (const ShapedTensor& tensor : test::hybrid_gguf_tensors(hybrid.shape)) {
    const auto& without = hybrid.without;
    if (std::ranges::find(without, tensor.name) != without.end()) continue;
    test::add_hybrid_tensor(builder, tensor);
  }
  for (const ShapedTensor& tensor : hybrid.with) test::add_hybrid_tensor(builder, tensor);
  return open_gguf_model(std::make_shared<MemorySource>("memory", test::to_bytes(builder.build())));
}

void expect_refused(const Hybrid& hybrid, ErrorCode code, const std::string& text) {
  const Result<std::unique_ptr<ModelFiles>> model = opened(hybrid);
  ASSERT_FALSE(model.ok()) << text;
  EXPECT_EQ(model.error().code(), code) << model.error().message();
  EXPECT_NE(model.error().message().find(text), std::string::npos) << model.error().message();
}

std::unique_ptr<ModelFiles> open_or_fail(const Hybrid& hybrid) {
  Result<std::unique_ptr<ModelFiles>> model = opened(hybrid);
  EXPECT_TRUE(model.ok()) << model.error().message();
  return model.ok() ? std::move(model).take() : nullptr;
}

// A letter for each layer, recurrent or attending: "rrra".
std::string kinds(const Hybrid& hybrid) {
  const auto model = open_or_fail(hybrid);
  std::string text;
  if (model == nullptr) return text;
  for (const LayerSpec& layer : model->spec().layers) text += layer.delta_net() ? 'r' : 'a';
  return text;
}

TEST(HostileHybrid, AFileThatFitsOpens) {
  for (const bool is_mixture : {false, true}) {
    const auto model = open_or_fail({.shape = {is_mixture, 4}});
    ASSERT_NE(model, nullptr);
    const ModelSpec& spec = model->spec();
    const DeltaNetSpec* delta = spec.layers[0].delta_net();
    ASSERT_NE(delta, nullptr);
    EXPECT_EQ(*delta, (DeltaNetSpec{2, 4, 16, 16, 4, true}));
    EXPECT_EQ(delta->key_head_of(3), 1u);
    const AttentionSpec* attention = spec.layers[3].attention();
    ASSERT_NE(attention, nullptr);
    EXPECT_TRUE(attention->has_gate);
    EXPECT_EQ(attention->rotary_dim, 8u);
    EXPECT_EQ(attention->qk_norm, QkNorm::EachHead);
    EXPECT_EQ(model->weights().find(TensorRole::AttentionQ, 3)->row_count, 128u);
    const TensorInfo* convolution = model->weights().find(TensorRole::DeltaConvolution, 2);
    ASSERT_NE(convolution, nullptr);
    EXPECT_EQ(convolution->row_count, 128u);
    EXPECT_EQ(convolution->transform, ValueTransform::None);
    EXPECT_NE(model->weights().find(TensorRole::FeedForwardNorm, 0), nullptr);
    EXPECT_TRUE(model->weights().left_out().empty());
    // Three layers of 4 heads of 16 x 16 and of three rows of 128 channels; a row of 32.
    EXPECT_EQ(state_float_count(spec), 3u * (4 * 16 * 16 + 3 * 128) + 32);
    EXPECT_EQ(spec.layers[0].experts() != nullptr, is_mixture);
    EXPECT_TRUE(!is_mixture || spec.layers[3].experts()->is_renormalised);
  }
}

TEST(HostileHybrid, KeysThatAreMissingAreNamed) {
  for (const std::string key : {"ssm.conv_kernel", "ssm.group_count", "ssm.time_step_rank",
                                "ssm.state_size", "ssm.inner_size", "feed_forward_length"}) {
    expect_refused({.keys = {{key, std::nullopt}}}, ErrorCode::NotFound,
                   "the metadata has no \"qwen35." + key + "\"");
  }
  expect_refused({.shape = {.is_mixture = true},
                  .keys = {{"expert_shared_feed_forward_length", std::nullopt}}},
                 ErrorCode::Corrupted, "qwen35moe.expert_shared_feed_forward_length is missing");
}

TEST(HostileHybrid, NumbersThatNoModelHasAreNamed) {
  const auto refused = [](const char* key, std::uint32_t value, ErrorCode code,
                          const std::string& text) {
    expect_refused({.keys = {{key, value}}}, code, text);
  };
  constexpr std::uint32_t kHuge = std::numeric_limits<std::uint32_t>::max();
  refused("ssm.conv_kernel", 0, ErrorCode::NotSupported, "the convolution is 0 rows wide; 2 to 8");
  refused("ssm.conv_kernel", 9, ErrorCode::NotSupported, "the convolution is 9 rows wide; 2 to 8");
  refused("ssm.group_count", 0, ErrorCode::Corrupted, "recurrent key head count is 0; 1 to 1024");
  refused("ssm.group_count", kHuge, ErrorCode::Corrupted, "recurrent key head count is 4294967295");
  refused("ssm.group_count", 4, ErrorCode::Corrupted,
          "recurrent value head count 2 is not a multiple of the recurrent key head count 4");
  refused("ssm.time_step_rank", 0, ErrorCode::Corrupted, "qwen35.ssm.time_step_rank is 0");
  refused("ssm.time_step_rank", 3, ErrorCode::Corrupted,
          "qwen35.ssm.inner_size is 32, which qwen35.ssm.time_step_rank = 3 does not divide");
  refused("ssm.state_size", 24, ErrorCode::NotSupported, "recurrent key head_dim is 24; multiples");
  refused("ssm.state_size", 512, ErrorCode::NotSupported, "recurrent key head_dim is 512");
  refused("ssm.state_size", kHuge, ErrorCode::Corrupted, "recurrent key head_dim is 4294967295");
  refused("ssm.inner_size", 0, ErrorCode::Corrupted, "recurrent value head_dim is 0");
  refused("ssm.inner_size", 16, ErrorCode::NotSupported, "recurrent value head_dim is 8");
  refused("rope.dimension_count", 0, ErrorCode::Corrupted, "qwen35.rope.dimension_count is 0");
  refused("rope.dimension_count", 7, ErrorCode::Corrupted, "RoPE turns 7 numbers of a head of 32");
  refused("rope.dimension_count", 34, ErrorCode::Corrupted, "RoPE turns 34 numbers of a head");
  refused("full_attention_interval", 0, ErrorCode::Corrupted, "full_attention_interval is 0");
  refused("full_attention_interval", 5, ErrorCode::NotSupported, "none of the 4 layers attends");
}

TEST(HostileHybrid, TheListOfRecurrentLayersComesBeforeTheInterval) {
  const std::string key = "qwen35.attention.recurrent_layers";
  const auto flags = [&](const std::vector<std::uint8_t>& values, GgufType type) {
    return [=](GgufBuilder& file) { file.add_numbers(key, type, values); };
  };
  EXPECT_EQ(kinds({}), "rrra");
  EXPECT_EQ(kinds({.keys = {{"full_attention_interval", std::nullopt}}}), "rrra");
  EXPECT_EQ(kinds({.keys = {{"full_attention_interval", 2}},
                   .change = flags({1, 1, 1, 0}, GgufType::Bool)}),
            "rrra");
  EXPECT_EQ(kinds({.keys = {{"full_attention_interval", 2}},
                   .change = flags({1, 1, 1, 0}, GgufType::U8)}),
            "rrra");
  expect_refused({.change = flags({1, 1, 0}, GgufType::Bool)}, ErrorCode::Corrupted,
                 key + " has 3 values for 4 blocks");
  expect_refused({.change = flags({1, 1, 1, 1}, GgufType::Bool)}, ErrorCode::NotSupported,
                 "none of the 4 layers attends");
  expect_refused({.change = [&](GgufBuilder& file) { file.add_text(key, "all"); }},
                 ErrorCode::Corrupted, "\"" + key + "\" is text");
  // The tensors are those of another list.
  expect_refused({.change = flags({1, 1, 0, 0}, GgufType::Bool)}, ErrorCode::Corrupted,
                 "the tensor blk.2.attn_q.weight is missing");
}

TEST(HostileHybrid, SectionsOfRopeTurnAllPairsOrAreRefused) {
  const std::string key = "qwen35.rope.dimension_sections";
  const auto with = [&](const std::vector<std::int32_t>& sections) {
    return Hybrid{
        .change = [=](GgufBuilder& file) { file.add_numbers(key, GgufType::I32, sections); }};
  };
  EXPECT_EQ(kinds(with({2, 1, 1, 0})), "rrra");
  EXPECT_EQ(kinds(with({11, 11, 10, 0})), "rrra");
  EXPECT_EQ(kinds(with({11, 11, 10})), "rrra");
  expect_refused(with({1, 1, 1, 1}), ErrorCode::NotSupported,
                 key + " gives pair 3 of a head no position; only sections that turn all 4 pairs");
  expect_refused(with({0, 0, 0, 0}), ErrorCode::Corrupted, key + " has no pairs");
  expect_refused(with({2, -1, 1, 0}), ErrorCode::Corrupted, key + " is not a list of four counts");
  expect_refused(with({2, 1, 1, 0, 1}), ErrorCode::Corrupted, key + " is not a list of four");
}

TEST(HostileHybrid, RecurrentLayersNeedNoHeadsOfKeysAndValues) {
  const Hybrid file{.keys = {{"attention.head_count_kv", std::nullopt}},
                    .change = [](GgufBuilder& builder) {
                      builder.add_numbers("qwen35.attention.head_count_kv", GgufType::I32,
                                          std::vector<std::int32_t>{0, 0, 0, 1});
                    }};
  EXPECT_EQ(kinds(file), "rrra");
}

TEST(HostileHybrid, TensorsThatLackOrContradictAreNamed) {
  for (const std::string name :
       {"blk.0.attn_qkv.weight", "blk.0.attn_gate.weight", "blk.1.ssm_beta.weight",
        "blk.1.ssm_alpha.weight", "blk.1.ssm_conv1d.weight", "blk.1.ssm_dt.bias", "blk.2.ssm_a",
        "blk.2.ssm_norm.weight", "blk.2.ssm_out.weight", "blk.2.post_attention_norm.weight",
        "blk.3.attn_q_norm.weight"}) {
    expect_refused({.without = {name}}, ErrorCode::Corrupted, "the tensor " + name + " is missing");
    expect_refused({.without = {name}, .with = {{name, {7, 5}}}}, ErrorCode::Corrupted,
                   "tensor \"" + name + "\" has 7 rows of 5 numbers; the model's shape wants");
  }
  // A query without a gate.
  expect_refused({.without = {"blk.3.attn_q.weight"}, .with = {{"blk.3.attn_q.weight", {64, 32}}}},
                 ErrorCode::Corrupted, "has 64 rows of 32 numbers; the model's shape wants 128");
  for (const std::string name : {"blk.0.ffn_norm.weight", "blk.0.attn_q.weight", "blk.3.ssm_a",
                                 "blk.4.attn_norm.weight", "v.blk.0.attn_q.weight"}) {
    expect_refused({.with = {{name, {32}}}}, ErrorCode::NotSupported, name);
  }
}

TEST(HostileHybrid, BlocksThatDraftTokensAreLeftOutAndCounted) {
  const std::vector<ShapedTensor> draft = {{"blk.4.attn_norm.weight", {32}},
                                           {"blk.4.attn_q.weight", {128, 32}},
                                           {"blk.4.nextn.eh_proj.weight", {32, 64}}};
  const Hybrid file{.keys = {{"block_count", 5}, {"nextn_predict_layers", 1}},
                    .change =
                        [](GgufBuilder& builder) {
                          builder.add_numbers("qwen35.attention.recurrent_layers", GgufType::Bool,
                                              std::vector<std::uint8_t>{1, 1, 1, 0, 0});
                        },
                    .with = draft};
  const auto model = open_or_fail(file);
  ASSERT_NE(model, nullptr);
  EXPECT_EQ(model->spec().layer_count(), 4u);
  ASSERT_EQ(model->weights().left_out().size(), 1u);
  EXPECT_EQ(model->weights().left_out()[0].part, "block that drafts tokens");
  EXPECT_EQ(model->weights().left_out()[0].tensor_count, 3u);
  EXPECT_EQ(model->weights().left_out()[0].bytes, (32u + 128 * 32 + 32 * 64) * 4);

  Hybrid further = file;
  further.with.push_back({"blk.5.attn_norm.weight", {32}});
  expect_refused(further, ErrorCode::NotSupported, "blk.5.attn_norm.weight");
  expect_refused(
      {.keys = {{"nextn_predict_layers", 4}}}, ErrorCode::Corrupted,
      "qwen35.nextn_predict_layers is 4, and qwen35.block_count, which counts them, is 4");
  Hybrid alone = file;
  for (const ShapedTensor& each : test::hybrid_gguf_tensors({})) {
    if (each.name.starts_with("blk.")) alone.without.push_back(each.name);
  }
  expect_refused(alone, ErrorCode::Corrupted,
                 "is missing: the file has the blocks that draft tokens alone");
}

}  // namespace
}  // namespace quire::inference::hostile_hybrid_test
