#include "inference/devices/cpu/pack.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "inference/kernels/kernels.h"
#include "support/hybrid_files.h"

namespace quire::inference::pack_test {
namespace {

std::vector<float> stored(const std::string& name, const std::vector<std::uint64_t>& dimensions) {
  const std::string bytes = test::hybrid_bytes({name, dimensions});
  std::vector<float> numbers(bytes.size() / sizeof(float));
  std::memcpy(numbers.data(), bytes.data(), bytes.size());
  return numbers;
}

PackedWeights packed(const ModelFiles& files) {
  Result<PackedWeights> weights = pack_weights(files, supported_kernels().front()->matmul, 1);
  EXPECT_TRUE(weights.ok()) << weights.error().message();
  return std::move(weights).take();
}

// A checkpoint of Qwen 3.5 has w of a norm by 1 + w, and log A of a decay by -A.
TEST(Pack, GivesTheNumbersThatAModelUsesWhereItsFilesHaveOthers) {
  const test::HybridFolder folder(test::hybrid_config({}),
                                  test::hybrid_checkpoint_tensors({}, "model."));
  const auto files = folder.open();
  ASSERT_TRUE(files.ok()) << files.error().message();
  PackedWeights weights = packed(*files.value());
  std::vector<float> norm = stored("model.norm.weight", {32});
  for (float& each : norm) each += 1.0f;
  EXPECT_EQ(weights.shared.vectors[TensorRole::OutputNorm], norm);
  RoleWeights& layer = weights.layers[1];
  const std::string at = "model.layers.1.linear_attn.";
  EXPECT_EQ(layer.vectors[TensorRole::DeltaNorm], stored(at + "norm.weight", {16}));
  EXPECT_EQ(layer.vectors[TensorRole::DeltaDecayBias], stored(at + "dt_bias", {2}));
  const std::vector<float> logs = stored(at + "A_log", {2});
  const std::vector<float>& decay = layer.vectors[TensorRole::DeltaDecay];
  ASSERT_EQ(decay.size(), logs.size());
  for (std::size_t i = 0; i < logs.size(); ++i) {
    EXPECT_NEAR(decay[i], -std::exp(logs[i]), 4e-7 * std::exp(logs[i]));
  }
}

TEST(Pack, ReadsATableRowAfterRow) {
  const test::HybridFolder folder(test::hybrid_config({}),
                                  test::hybrid_checkpoint_tensors({}, "model."));
  const auto files = folder.open();
  ASSERT_TRUE(files.ok()) << files.error().message();
  PackedWeights weights = packed(*files.value());
  EXPECT_EQ(weights.layers[2].vectors[TensorRole::DeltaConvolution],
            stored("model.layers.2.linear_attn.conv1d.weight", {96, 1, 4}));
  EXPECT_TRUE(weights.layers[3].vectors[TensorRole::DeltaConvolution].empty());
}

}  // namespace
}  // namespace quire::inference::pack_test
