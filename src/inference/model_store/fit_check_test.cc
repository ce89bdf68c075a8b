#include "inference/model_store/fit_check.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <vector>

#include "base/file.h"
#include "support/golden.h"

namespace quire::inference::fit_check_test {
namespace {

std::string config_of(const char* model) {
  return read_file(test::golden_path(std::string(model) + "/config.json"), 1 << 20).value();
}

TEST(FitCheck, AConfigIsRefusedUnlessTheWeightsMayMendIt) {
  EXPECT_TRUE(check_config(config_of("tiny_llama"), "m").ok());
  EXPECT_TRUE(check_config(config_of("tiny_qwen3"), "m").ok());
  for (const char* wrong : {"", "[]", "{", R"({"model_type": "gemma3"})", R"({"model_type": 7})",
                            R"({"model_type": "llama"})"}) {
    const Result<void> checked = check_config(wrong, "m");
    ASSERT_FALSE(checked.ok()) << wrong;
    EXPECT_EQ(checked.error().code(), ErrorCode::NotSupported) << wrong;
    EXPECT_TRUE(checked.error().message().starts_with("m/config.json"))
        << checked.error().message();
  }
}

TEST(FitCheck, OnlyACheckpointWithItsTokenizerPasses) {
  const std::vector<std::string> whole = {"config.json", "tokenizer.json"};
  EXPECT_TRUE(check_tokenizer("f", whole).ok());
  const std::vector<std::string> other = {"config.json", "tekken.json"};
  const Result<void> checked = check_tokenizer("f", other);
  ASSERT_FALSE(checked.ok());
  EXPECT_NE(checked.error().message().find("it has tekken.json"), std::string::npos);
}

TEST(FitCheck, WeightsAreLookedAtOnceTheirBeginningIsThere) {
  const std::string path = test::golden_path("tiny_llama/model.safetensors");
  const std::uint64_t bytes = std::filesystem::file_size(path);
  WeightsCheck whole("model.safetensors", path, bytes, false);
  EXPECT_TRUE(whole.see(100).ok());
  EXPECT_TRUE(whole.see(bytes).ok());
  // The same bytes are not a GGUF file: the digest may show that they are damaged.
  WeightsCheck gguf("m.gguf", path, bytes, false);
  EXPECT_TRUE(gguf.see(bytes).ok());
  WeightsCheck text("tokenizer.json", path, bytes, false);
  EXPECT_TRUE(text.see(bytes).ok());
}

}  // namespace
}  // namespace quire::inference::fit_check_test
