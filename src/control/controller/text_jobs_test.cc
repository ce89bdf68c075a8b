#include "control/controller/text_jobs.h"

#include <gtest/gtest.h>

#include <map>

#include "control/controller/helper_thread.h"

namespace quire::control {
namespace {

using inference::EncodeOptions;
using inference::TokenId;

// One token for each byte.
class ByteCodec final : public inference::TextCodec {
 public:
  std::uint32_t vocabulary_size() const override { return 256; }
  Result<std::vector<TokenId>> encode(std::string_view text, EncodeOptions options) const override {
    std::vector<TokenId> ids;
    if (options.add_bos) ids.push_back(TokenId{0});
    for (const char each : text) ids.push_back(TokenId{static_cast<std::uint8_t>(each)});
    return ids;
  }
  Result<std::string> decode(const std::vector<TokenId>& tokens, bool) const override {
    std::string text;
    for (const TokenId each : tokens) text.push_back(static_cast<char>(each));
    return text;
  }
  Result<TokenId> special(std::string_view text) const override {
    return Error(ErrorCode::NotFound, std::string(text));
  }
  Result<std::string> apply_chat_template(std::string_view) const override {
    return Error(ErrorCode::NotSupported, "no template");
  }
  Result<std::vector<TokenId>> encode_chat(std::string_view request) const override {
    return encode(request, {});
  }
};

class Answers final : public AnswerSink {
 public:
  void answer(Answer given) override { by_future.emplace(given.future, std::move(given.body)); }
  void lost(InstanceId, const Error&) override { FAIL() << "no page was ever wanted"; }
  std::map<FutureId, Result<AnswerBody>> by_future;
};

// Runs jobs when the test says so.
class PatientHelper final : public HelperExecutor {
 public:
  void run(std::function<void()> job) override { jobs.push_back(std::move(job)); }
  std::vector<std::function<void()>> jobs;
};

struct Fixture {
  Wakeup wakeup;
  CompletionInbox inbox{wakeup};
  Answers answers;
  Dispatcher dispatcher{answers, nullptr};
  ByteCodec codec;
};

TEST(TextJobs, ShortOnesAreAnsweredAtOnce) {
  Fixture fixture;
  PatientHelper helper;
  TextJobs jobs(fixture.inbox, &helper, fixture.dispatcher);
  EXPECT_TRUE(jobs.start(InstanceId{1}, FutureId{1}, Tokenize{.text = "ab", .add_bos = true},
                         fixture.codec));
  EXPECT_TRUE(
      jobs.start(InstanceId{1}, FutureId{2}, Detokenize{.tokens = {104, 105}}, fixture.codec));
  EXPECT_EQ(std::get<Tokens>(fixture.answers.by_future.at(FutureId{1}).value()).ids,
            (std::vector<std::uint32_t>{0, 97, 98}));
  EXPECT_EQ(std::get<Text>(fixture.answers.by_future.at(FutureId{2}).value()).bytes, "hi");
  EXPECT_TRUE(jobs.idle());
}

TEST(TextJobs, LongOnesComeBackThroughTheInbox) {
  Fixture fixture;
  PatientHelper helper;
  TextJobs jobs(fixture.inbox, &helper, fixture.dispatcher);
  EXPECT_FALSE(jobs.start(InstanceId{1}, FutureId{1}, Tokenize{.text = std::string(5000, 'x')},
                          fixture.codec));
  EXPECT_FALSE(
      jobs.start(InstanceId{1}, FutureId{2}, ApplyChatTemplate{.request = "{}"}, fixture.codec));
  EXPECT_TRUE(fixture.answers.by_future.empty());
  for (auto& job : helper.jobs) job();
  while (auto outcome = fixture.inbox.take_text()) jobs.finish(std::move(*outcome));
  EXPECT_EQ(std::get<Tokens>(fixture.answers.by_future.at(FutureId{1}).value()).ids.size(), 5000u);
  EXPECT_EQ(fixture.answers.by_future.at(FutureId{2}).error().code(), ErrorCode::NotSupported);
  EXPECT_TRUE(jobs.idle());
}

TEST(TextJobs, MoreThanMayRunWaitTheirTurnAndNoneIsLost) {
  Fixture fixture;
  PatientHelper helper;
  TextJobs jobs(fixture.inbox, &helper, fixture.dispatcher);
  constexpr std::size_t kCount = 3 * CompletionInbox::kTextJobCountMax;
  for (std::uint32_t index = 1; index <= kCount; ++index) {
    jobs.start(InstanceId{1}, FutureId{index}, ApplyChatTemplate{.request = "x", .tokens = true},
               fixture.codec);
  }
  EXPECT_EQ(helper.jobs.size(), CompletionInbox::kTextJobCountMax);
  while (!jobs.idle()) {
    for (auto& job : std::exchange(helper.jobs, {})) job();
    while (auto outcome = fixture.inbox.take_text()) jobs.finish(std::move(*outcome));
  }
  EXPECT_EQ(fixture.answers.by_future.size(), kCount);
}

TEST(TextJobs, AForgottenJobIsNotAnswered) {
  Fixture fixture;
  PatientHelper helper;
  TextJobs jobs(fixture.inbox, &helper, fixture.dispatcher);
  for (std::uint32_t index = 1; index <= 3; ++index) {
    jobs.start(InstanceId{index < 3 ? 1u : 2u}, FutureId{index}, ApplyChatTemplate{.request = "x"},
               fixture.codec);
  }
  jobs.forget(InstanceId{1}, FutureId{1});
  jobs.forget_all(InstanceId{2});
  for (auto& job : helper.jobs) job();
  while (auto outcome = fixture.inbox.take_text()) jobs.finish(std::move(*outcome));
  EXPECT_EQ(fixture.answers.by_future.size(), 1u);
  EXPECT_TRUE(fixture.answers.by_future.contains(FutureId{2}));
}

TEST(TextJobs, TheHelperThreadRunsThemAndWakesTheEngine) {
  Fixture fixture;
  HelperThread helper;
  TextJobs jobs(fixture.inbox, &helper, fixture.dispatcher);
  jobs.start(InstanceId{1}, FutureId{1}, Tokenize{.text = std::string(5000, 'x')}, fixture.codec);
  while (!jobs.idle()) {
    fixture.wakeup.wait_for(std::chrono::seconds(10));
    while (auto outcome = fixture.inbox.take_text()) jobs.finish(std::move(*outcome));
  }
  EXPECT_EQ(fixture.answers.by_future.size(), 1u);
}

}  // namespace
}  // namespace quire::control
