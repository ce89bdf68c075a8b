// The whole control layer on a real model: what comes back from host memory gives the logits, bit
// for bit, of what never left.
#include <gtest/gtest.h>

#include "support/control_engine.h"
#include "support/default_model.h"
#include "support/golden.h"

namespace quire::test {
namespace {

using namespace control;  // NOLINT: a test of that layer.

Engine::Options options_of(std::uint32_t page_count, std::uint64_t host_bytes) {
  Engine::Options options;
  options.device.page_count = page_count;
  options.control.tiers.host_bytes_max = host_bytes;
  options.control.costs.choice = TierChoice::Restore;
  return options;
}

// A window over a context that another context displaces, and a prompt that comes twice.
struct Seen {
  std::vector<float> windowed;
  std::vector<float> again;
};

Seen displaced(Engine& engine, bool is_displaced) {
  const Engine::Program windowed = engine.start();
  engine.next(windowed, tokens_from(1, 300));
  engine.send(windowed, ContextDropRange{windowed.context, 4, 200});
  engine.next(windowed, tokens_from(5, 9));
  const Engine::Program first = engine.start();
  engine.next(first, tokens_from(9, 290));
  engine.end(first);
  if (is_displaced) {
    const Engine::Program other = engine.start();
    engine.next(other, tokens_from(77, 380));
    engine.end(other);
  }
  Seen seen;
  seen.windowed = engine.next(windowed, tokens_from(11, 21));
  const Engine::Program second = engine.start();
  seen.again = engine.next(second, tokens_from(9, 300));
  return seen;
}

void expect_equal_bits(const std::string& model) {
  Engine roomy(model, options_of(256, 0));
  const Seen wanted = displaced(roomy, false);
  Engine tight(model, options_of(25, std::uint64_t{1} << 30));
  const Seen given = displaced(tight, true);
  ASSERT_FALSE(given.windowed.empty());
  EXPECT_EQ(given.windowed, wanted.windowed);
  EXPECT_EQ(given.again, wanted.again);
  EXPECT_GE(tight.tiers().swap_count, 1u);
  EXPECT_GE(tight.tiers().restored_page_count, 18u);
  EXPECT_EQ(tight.tiers().damaged_page_count, 0u);
}

TEST(TierRestore, GivesTheBitsOfPagesThatStayed) {
  for (const char* model : {"tiny_llama", "tiny_qwen3", "experts/qwen3moe_8.gguf"}) {
    SCOPED_TRACE(model);
    expect_equal_bits(golden_path(model));
  }
}

TEST(TierRestore, GivesThemWithTheDefaultModelToo) {
  const std::string model = default_model_path();
  if (model.empty()) GTEST_SKIP() << "no " << kDefaultModelFile << " here: make model";
  expect_equal_bits(model);
}

}  // namespace
}  // namespace quire::test
