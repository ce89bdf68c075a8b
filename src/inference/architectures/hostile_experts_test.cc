// Files of mixtures of experts that contradict themselves: the error names the key or the tensor.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "inference/architectures/model_files.h"
#include "support/gguf_builder.h"

namespace quire::inference::hostile_experts_test {
namespace {

using test::GgufBuilder;
constexpr std::uint32_t kF32 = 0;

struct Mixture {
  std::uint32_t expert_count = 4, used_count = 2, width = 16;
  std::function<void(GgufBuilder&)> change = {};  // Adds keys.
  std::vector<std::string> without = {};          // Tensors that the file lacks.
  std::vector<std::pair<std::string, std::vector<std::uint64_t>>> with =
      {};  // Those that it has more.
};

void add_tensor(GgufBuilder& builder, const std::string& name,
                const std::vector<std::uint64_t>& dimensions) {
  std::uint64_t count = 1;
  for (const std::uint64_t each : dimensions) count *= each;
  builder.add_tensor(name, dimensions, kF32, std::string(count * sizeof(float), '\0'));
}

Result<std::unique_ptr<ModelFiles>> opened(const Mixture& mixture) {
  GgufBuilder builder;
  builder.add_text("general.architecture", "qwen3moe");
  const auto number = [&](const char* key, std::uint32_t value) {
    builder.add_u32(std::string("qwen3moe.") + key, value);
  };
  number("context_length", 128);
  number("embedding_length", 32);
  number("block_count", 1);
  number("feed_forward_length", 64);
  number("attention.head_count", 2);
  number("attention.head_count_kv", 1);
  number("expert_count", mixture.expert_count);
  number("expert_used_count", mixture.used_count);
  number("expert_feed_forward_length", mixture.width);
  builder.add_f32("qwen3moe.attention.layer_norm_rms_epsilon", 1e-5f);
  if (mixture.change) mixture.change(builder);
  const std::pair<const char*, std::vector<std::uint64_t>> tensors[] = {
      {"token_embd.weight", {32, 16}},           {"output_norm.weight", {32}},
      {"blk.0.attn_norm.weight", {32}},          {"blk.0.attn_q.weight", {32, 32}},
      {"blk.0.attn_k.weight", {32, 16}},         {"blk.0.attn_v.weight", {32, 16}},
      {"blk.0.attn_q_norm.weight", {16}},        {"blk.0.attn_k_norm.weight", {16}},
      {"blk.0.attn_output.weight", {32, 32}},    {"blk.0.ffn_norm.weight", {32}},
      {"blk.0.ffn_gate_inp.weight", {32, 4}},    {"blk.0.ffn_gate_exps.weight", {32, 16, 4}},
      {"blk.0.ffn_up_exps.weight", {32, 16, 4}}, {"blk.0.ffn_down_exps.weight", {16, 32, 4}}};
  for (const auto& [name, dimensions] : tensors) {
    const auto& without = mixture.without;
    if (std::find(without.begin(), without.end(), name) != without.end()) continue;
    add_tensor(builder, name, dimensions);
  }
  for (const auto& [name, dimensions] : mixture.with) add_tensor(builder, name, dimensions);
  const std::string bytes = builder.build();
  std::vector<std::byte> content(bytes.size());
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(content.data()));
  return open_gguf_model(std::make_shared<MemorySource>("memory", std::move(content)));
}

void expect_refused(const Mixture& mixture, ErrorCode code, const std::string& text) {
  const Result<std::unique_ptr<ModelFiles>> model = opened(mixture);
  ASSERT_FALSE(model.ok()) << text;
  EXPECT_EQ(model.error().code(), code) << model.error().message();
  EXPECT_NE(model.error().message().find(text), std::string::npos) << model.error().message();
}

TEST(HostileExperts, AFileThatFitsOpens) {
  const Result<std::unique_ptr<ModelFiles>> model = opened({});
  ASSERT_TRUE(model.ok()) << model.error().message();
  EXPECT_NE(model.value()->weights().find(TensorRole::ExpertDown, 0, 3), nullptr);
  EXPECT_EQ(model.value()->weights().find(TensorRole::ExpertDown, 0, 4), nullptr);
}

TEST(HostileExperts, CountsAndWidthsThatNoModelHasAreNamed) {
  expect_refused({.expert_count = 0}, ErrorCode::Corrupted, "expert count is 0; 1 to 4096");
  expect_refused({.expert_count = 1u << 31}, ErrorCode::Corrupted, "expert count is 2147483648");
  expect_refused({.used_count = 0}, ErrorCode::Corrupted, "used expert count is 0; 1 to 64");
  expect_refused({.used_count = 5}, ErrorCode::Corrupted,
                 "used expert count 5 is more than the expert count 4");
  expect_refused({.width = 0xffffffff}, ErrorCode::Corrupted, "expert width is 4294967295");
  expect_refused(
      {.change = [](GgufBuilder& file) { file.add_f32("qwen3moe.expert_weights_scale", -1.0f); }},
      ErrorCode::Corrupted, "the scale of expert weights is -1");
}

TEST(HostileExperts, RoutersOfOtherKindsAreRefusedByTheirKey) {
  for (const char* key : {"expert_gating_func", "expert_group_count"}) {
    expect_refused(
        {.change = [&](GgufBuilder& file) { file.add_u32(std::string("qwen3moe.") + key, 2); }},
        ErrorCode::NotSupported, std::string("qwen3moe.") + key + " is 2");
  }
}

TEST(HostileExperts, TensorsThatLackRepeatOrContradictAreNamed) {
  const std::string down = "blk.0.ffn_down_exps.weight";
  const std::string router = "blk.0.ffn_gate_inp.weight";
  const std::string fused = "blk.0.ffn_gate_up_exps.weight";
  expect_refused({.without = {down}}, ErrorCode::Corrupted, "the tensor " + down + " is missing");
  expect_refused({.without = {down}, .with = {{down, {16, 32, 3}}}}, ErrorCode::Corrupted,
                 "has 3 times 32 rows of 16 numbers; the model's shape wants 4 times 32 rows");
  expect_refused({.without = {down}, .with = {{down, {16, 128}}}}, ErrorCode::Corrupted, down);
  expect_refused({.without = {router}, .with = {{router, {32, 5}}}}, ErrorCode::Corrupted, router);
  expect_refused({.with = {{fused, {32, 32, 4}}}}, ErrorCode::NotSupported,
                 "the body has no use for the tensor \"blk.0.ffn_");
  expect_refused({.with = {{"blk.0.ffn_gate.weight", {32, 64}}}}, ErrorCode::NotSupported,
                 "blk.0.ffn_gate.weight");
}

}  // namespace
}  // namespace quire::inference::hostile_experts_test
