#include "main/machine/model_facts.h"

#include <gtest/gtest.h>

#include "support/hybrid_files.h"

namespace quire::model_facts_test {
namespace {

TEST(ModelFacts, CountAStateAndTheKeysOfLayersThatAttend) {
  const test::HybridShape shape{.is_mixture = false, .value_head_count = 4};
  auto tensors = test::hybrid_checkpoint_tensors(shape, "model.language_model.");
  tensors.push_back({"model.visual.patch_embed.proj.weight", {4, 3, 2, 2, 2}});
  const test::HybridFolder folder(test::nested_config(shape), tensors);
  cli::EngineOptions engine;
  engine.kv_format = cli::KvFormatChoice::F16;
  const Result<ModelFacts> facts = read_model_facts(folder.path(), engine);
  ASSERT_TRUE(facts.ok()) << facts.error().message();
  // Three layers of 4 heads of 16 x 16 and of three rows of 128 channels; a row of 32.
  EXPECT_EQ(facts.value().state_bytes, (3 * (4 * 16 * 16 + 3 * 128) + 32) * sizeof(float));
  // One layer attends: keys and values of a head of 32.
  EXPECT_EQ(facts.value().kv_bytes_per_token, 2u * 32 * 2);
  ASSERT_EQ(facts.value().left_out.size(), 1u);
  EXPECT_EQ(facts.value().left_out[0].part, "vision tower");
  EXPECT_EQ(facts.value().left_out[0].bytes, 96u * 4);
}

}  // namespace
}  // namespace quire::model_facts_test
