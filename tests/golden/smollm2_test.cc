// SmolLM2-135M-Instruct Q4_1 against PyTorch: the F32 path closely, 8-bit activations where the
// reference is sure. Skipped, saying so, where the model was not fetched.
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/seeds.h"
#include "inference/kernels/kernels.h"
#include "support/backend_driver.h"
#include "support/default_model.h"
#include "support/golden.h"

namespace quire::test {
namespace {

using inference::Batch;
using inference::Completion;
using inference::DeviceOptions;
using inference::KvFormat;

// How close a backend comes, by what the golden README asks.
struct Bounds {
  double logit;     // Of last_logits_top20; 0: not compared.
  double sure_gap;  // Tokens are compared where the reference leads by at least this.
  double mean_nll;
};
constexpr Bounds kExact{5e-3, 0.005, 1e-4};
constexpr Bounds kEightBit{0.0, 0.3, 0.01};

class SmolLm2 : public testing::TestWithParam<std::string> {
 protected:
  static void SetUpTestSuite() {
    const std::string text = read_file(golden_path("smollm2.json"), 1 << 22).value();
    golden_ = new nlohmann::json(nlohmann::json::parse(text));
  }
  static void TearDownTestSuite() { delete golden_; }

  void SetUp() override {
    const std::string path = default_model_path();
    if (path.empty()) {
      GTEST_SKIP() << "the default model is not on this machine (make model fetches it)";
    }
    DeviceOptions options;
    options.name = GetParam();
    options.threads = 2;
    options.page_count = 128;
    options.kv_format = is_exact() ? KvFormat::F32 : KvFormat::F16;
    device_ = Device::open(path, options);
    ASSERT_NE(device_, nullptr);
  }

  bool is_exact() const { return GetParam() == "scalar"; }
  Bounds bounds() const { return is_exact() ? kExact : kEightBit; }

  // Logits after ids [span); earlier ids are in the cache.
  std::vector<float> last_logits(const std::vector<std::int32_t>& ids, Span span) {
    Batch batch;
    add_pass(batch, {.id = inference::SequenceId{1}}, ids, span, {span.end - 1, span.end});
    Completion completion = device_->run(std::move(batch));
    return logits_of(completion, 0);
  }

  static const nlohmann::json& golden() { return *golden_; }
  std::unique_ptr<Device> device_;

 private:
  static inline nlohmann::json* golden_ = nullptr;
};

TEST_P(SmolLm2, PromptsContinueAsTheReferenceWhereItIsSure) {
  // scalar takes 0.1 s a token: a share of the prompts in each run of the suite, all in a campaign.
  const auto prompts = golden()["prompts"];
  std::vector<std::uint64_t> wanted = campaign_seeds(prompts.size());
  if (!is_exact()) {
    wanted.resize(prompts.size());
    std::iota(wanted.begin(), wanted.end(), std::uint64_t{0});
  }
  for (const std::uint64_t index : wanted) {
    const auto& prompt = prompts[index];
    SCOPED_TRACE(prompt["prompt"].get<std::string>());
    auto ids = prompt["ids"].get<std::vector<std::int32_t>>();
    std::uint32_t done = 0;
    for (const auto& step : prompt["greedy"]) {
      const auto end = static_cast<std::uint32_t>(ids.size());
      const std::vector<float> logits = last_logits(ids, {done, end});
      if (done == 0 && bounds().logit > 0.0) {
        for (const auto& entry : prompt["last_logits_top20"]) {
          EXPECT_NEAR(logits[entry[0].get<std::size_t>()], entry[1].get<double>(), bounds().logit);
        }
      }
      if (step["gap"].get<double>() < bounds().sure_gap) break;
      ids.push_back(static_cast<std::int32_t>(argmax(logits)));
      ASSERT_EQ(ids.back(), step["id"].get<std::int32_t>()) << "after " << end << " tokens";
      done = end;
    }
  }
}

double negative_log_likelihood(const std::vector<float>& logits, std::int32_t token) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0.0;
  for (const float logit : logits) sum += std::exp(double{logit} - largest);
  return largest + std::log(sum) - double{logits[static_cast<std::size_t>(token)]};
}

TEST_P(SmolLm2, TextIsAsLikelyAsForTheReference) {
  const auto& text = golden()["text"];
  const auto ids = text["ids"].get<std::vector<std::int32_t>>();
  const auto count = static_cast<std::uint32_t>(ids.size());
  constexpr std::uint32_t kChunk = 128;
  double sum = 0.0;
  for (std::uint32_t begin = 0; begin < count; begin += kChunk) {
    const Span span{begin, std::min(count, begin + kChunk)};
    Batch batch;
    add_pass(batch, {.id = inference::SequenceId{1}}, ids, span, span);
    Completion completion = device_->run(std::move(batch));
    for (std::uint32_t i = span.begin; i < span.end; ++i) {
      const std::vector<float> logits = logits_of(completion, i - span.begin);
      if (text["gap"][i].get<double>() >= bounds().sure_gap) {
        EXPECT_EQ(argmax(logits), text["argmax"][i].get<std::uint32_t>()) << "at " << i;
      }
      if (i + 1 < count) sum += negative_log_likelihood(logits, ids[i + 1]);
    }
  }
  EXPECT_NEAR(sum / (count - 1), text["mean_nll"].get<double>(), bounds().mean_nll);
}

std::vector<std::string> table_names() {
  std::vector<std::string> names;
  for (const inference::KernelTable* table : inference::supported_kernels()) {
    names.emplace_back(table->name);
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(Golden, SmolLm2, testing::ValuesIn(table_names()),
                         [](const auto& parameter) { return parameter.param; });

}  // namespace
}  // namespace quire::test
