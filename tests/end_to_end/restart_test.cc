// A context that was saved goes on after a restart as if there had been none, bit for bit.
#include <algorithm>
#include <cstring>

#include "end_to_end/saved_contexts.h"
#include "end_to_end/support.h"
#include "main/machine/sharing_secret.h"

namespace quire::test {
namespace {

constexpr std::size_t kTokenCount = 50;  // Three full pages and a part of one.
constexpr std::size_t kStepCount = 12;

void expect_equal_bits(const std::vector<std::vector<float>>& one,
                       const std::vector<std::vector<float>>& other) {
  ASSERT_EQ(one.size(), other.size());
  for (std::size_t step = 0; step < one.size(); ++step) {
    ASSERT_EQ(one[step].size(), other[step].size());
    EXPECT_EQ(std::memcmp(one[step].data(), other[step].data(), one[step].size() * sizeof(float)),
              0)
        << "logits of step " << step;
  }
}

void expect_same_after_restart(const std::string& model, const std::vector<std::uint32_t>& prompt) {
  TemporaryFolder folder;
  const std::string store = folder.file("store");
  const std::vector<std::uint32_t> more = {5, 6, 7};
  std::vector<std::uint32_t> ids;
  std::vector<std::vector<float>> logits;
  {
    SavingEngine engine(model, store);
    ASSERT_TRUE(engine.ok());
    TalkingContext context(engine);
    context.create();
    ASSERT_TRUE(context.forward(prompt).ok());
    const Result<void> saved = context.save("chat");
    ASSERT_TRUE(saved.ok()) << saved.error().message();
    logits = context.go_on(context.forward(more).value(), kStepCount, ids).value();
  }
  SavingEngine engine(model, store);
  ASSERT_TRUE(engine.ok());
  // Twice: from disk, and where its pages are in the pool already.
  for (const char* where : {"from disk", "from the pool"}) {
    SCOPED_TRACE(where);
    TalkingContext context(engine);
    const Result<control::ContextCounters> opened = context.open("chat");
    ASSERT_TRUE(opened.ok()) << opened.error().message();
    EXPECT_EQ(opened.value().seq_len, prompt.size());
    std::vector<std::uint32_t> ids_again;
    const std::vector<std::vector<float>> logits_again =
        context.go_on(context.forward(more).value(), kStepCount, ids_again).value();
    EXPECT_EQ(ids_again, ids);
    expect_equal_bits(logits_again, logits);
    // Nothing of the prompt was computed again.
    EXPECT_EQ(context.statistics().computed_token_count, more.size() + kStepCount);
  }
}

TEST(Restart, ATinyModelGoesOnWithTheSameBits) {
  expect_same_after_restart(golden_path("tiny_llama"), some_tokens(kTokenCount));
}

TEST(Restart, SmolLM2GoesOnWithTheSameBits) {
  QUIRE_NEEDS_DEFAULT_MODEL();
  const std::vector<GoldenPrompt> golden = golden_prompts();
  ASSERT_FALSE(golden.empty());
  std::vector<std::uint32_t> prompt;
  while (prompt.size() < kTokenCount) {
    for (const GoldenPrompt& each : golden) {
      prompt.insert(prompt.end(), each.prompt_ids.begin(), each.prompt_ids.end());
    }
  }
  prompt.resize(kTokenCount);
  expect_same_after_restart(default_model, prompt);
}

TEST(Restart, PagesAreFoundByNameAcrossAStartBecauseTheSecretStays) {
  TemporaryFolder folder;
  const std::string store = folder.file("store");
  save_contexts(golden_path("tiny_llama"), store, {{"a", some_tokens(48)}});
  SavingEngine engine(golden_path("tiny_llama"), store);
  ASSERT_TRUE(engine.ok());
  TalkingContext opened(engine);
  ASSERT_TRUE(opened.open("a").ok());
  // Another context of the same tokens finds what the snapshot brought.
  TalkingContext other(engine);
  other.create();
  ASSERT_TRUE(other.forward(some_tokens(48)).ok());
  EXPECT_EQ(other.statistics().found_token_count, 48u);
}

TEST(Restart, ATakenSnapshotIsGone) {
  TemporaryFolder folder;
  const std::string store = folder.file("store");
  save_contexts(golden_path("tiny_llama"), store, {{"a", some_tokens(20)}});
  SavingEngine engine(golden_path("tiny_llama"), store);
  ASSERT_TRUE(engine.ok());
  TalkingContext first(engine);
  ASSERT_TRUE(first.open("a", true).ok());
  TalkingContext second(engine);
  const Result<control::ContextCounters> again = second.open("a");
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().code(), ErrorCode::NotFound);
}

TEST(Restart, AnotherModelIsRefusedWithTheReason) {
  TemporaryFolder folder;
  const std::string store = folder.file("store");
  save_contexts(golden_path("tiny_llama"), store, {{"a", some_tokens(20)}});
  SavingEngine engine(golden_path("tiny_qwen2"), store);
  ASSERT_TRUE(engine.ok());
  TalkingContext context(engine);
  const Result<control::ContextCounters> opened = context.open("a");
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code(), ErrorCode::NotSupported);
  EXPECT_NE(opened.error().message().find("model"), std::string::npos) << opened.error().message();
}

TEST(Restart, AStoreWithoutItsSecretIsRefusedAndAnotherIsNotMade) {
  TemporaryFolder folder;
  const std::string store = folder.file("store");
  save_contexts(golden_path("tiny_llama"), store, {{"a", some_tokens(20)}});
  ASSERT_TRUE(std::filesystem::remove(sharing_secret_path(store)));
  const SteadyClock clock;
  cli::EngineOptions options;
  options.model = golden_path("tiny_llama");
  options.pool.page_count = 64;
  options.thread_count = 1;
  options.store_folder = store;
  options.store_use = cli::StoreUse::Required;
  const Result<std::unique_ptr<Machine>> required = Machine::build(options, clock);
  ASSERT_FALSE(required.ok());
  EXPECT_EQ(required.error().code(), ErrorCode::NotFound);
  EXPECT_NE(required.error().message().find("sharing.secret"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(sharing_secret_path(store)));

  options.store_use = cli::StoreUse::IfFree;
  const Result<std::unique_ptr<Machine>> without = Machine::build(options, clock);
  ASSERT_TRUE(without.ok()) << without.error().message();
  ASSERT_TRUE(without.value()->store_error().has_value());
  EXPECT_NE(without.value()->store_error()->message().find("sharing.secret"), std::string::npos);
}

}  // namespace
}  // namespace quire::test
