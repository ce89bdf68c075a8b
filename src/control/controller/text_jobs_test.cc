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
  Result<inference::TokenView> token(TokenId) const override { return inference::TokenView{}; }
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

Instance instance_of(std::uint64_t id, std::uint32_t tenant = 1) {
  Instance instance;
  instance.id = InstanceId{id};
  instance.tenant = TenantId{tenant};
  return instance;
}

struct Fixture {
  // Runs what the helper has, once.
  void help() {
    for (auto& job : std::exchange(helper.jobs, {})) job();
    for (auto& job : std::exchange(grammars.jobs, {})) job();
    while (auto outcome = inbox.take_text()) jobs.finish(std::move(*outcome));
    jobs.verify();
  }
  void start_template(Instance& of, std::uint32_t future) {
    jobs.start(of, {of.id, FutureId{future}, ApplyChatTemplate{.request = "x", .tokens = true}},
               {.codec = &codec});
    jobs.verify();
  }
  bool has(std::uint32_t future) const { return answers.by_future.contains(FutureId{future}); }

  Wakeup wakeup;
  CompletionInbox inbox{wakeup};
  Answers answers;
  Dispatcher dispatcher{answers, nullptr};
  ByteCodec codec;
  PatientHelper helper;
  PatientHelper grammars;
  TextJobs jobs{inbox, {.texts = &helper, .grammars = &grammars}, dispatcher};
  Instance instance = instance_of(1);
  Instance other = instance_of(2, 2);
};

constexpr std::uint32_t kOnHelper = TextJobs::kOnHelperCountMax;

// A grammar whose only text is "a".
class LetterGrammar final : public inference::Grammar {
 public:
  Result<std::unique_ptr<inference::Matcher>> matcher() const override {
    return Error(ErrorCode::NotSupported, "not in this test");
  }
  Result<bool> fits(std::string_view text) const override {
    if (text.size() > 5) return Error(ErrorCode::Timeout, "the text takes too long");
    return text == "a";
  }
  std::size_t memory_bytes() const override { return 0; }
};

// However short it is: what it takes is up to the grammar.
TEST(TextJobs, ATextIsComparedWithAGrammarOnTheHelper) {
  Fixture fixture;
  const auto grammar = std::make_shared<const LetterGrammar>();
  std::uint32_t future = 0;
  for (const char* text : {"a", "b", "too long"}) {
    fixture.jobs.start(
        fixture.instance,
        {InstanceId{1}, FutureId{++future}, CheckText{.grammar = grammar, .text = text}},
        {.codec = &fixture.codec});
  }
  EXPECT_TRUE(fixture.answers.by_future.empty());
  while (!fixture.jobs.idle()) fixture.help();
  EXPECT_TRUE(std::get<TextChecked>(fixture.answers.by_future.at(FutureId{1}).value()).fits);
  EXPECT_FALSE(std::get<TextChecked>(fixture.answers.by_future.at(FutureId{2}).value()).fits);
  EXPECT_EQ(fixture.answers.by_future.at(FutureId{3}).error().code(), ErrorCode::Timeout);
  EXPECT_TRUE(fixture.jobs.idle());
}

TEST(TextJobs, ShortOnesAreAnsweredAtOnce) {
  Fixture fixture;
  fixture.jobs.start(fixture.instance,
                     {InstanceId{1}, FutureId{1}, Tokenize{.text = "ab", .add_bos = true}},
                     {.codec = &fixture.codec});
  fixture.jobs.start(fixture.instance,
                     {InstanceId{1}, FutureId{2}, Detokenize{.tokens = {104, 105}}},
                     {.codec = &fixture.codec});
  EXPECT_EQ(std::get<Tokens>(fixture.answers.by_future.at(FutureId{1}).value()).ids,
            (std::vector<std::uint32_t>{0, 97, 98}));
  EXPECT_EQ(std::get<Text>(fixture.answers.by_future.at(FutureId{2}).value()).bytes, "hi");
  EXPECT_TRUE(fixture.jobs.idle());
  EXPECT_EQ(fixture.instance.unfinished.job_count, 0u);
}

TEST(TextJobs, LongOnesComeBackThroughTheInbox) {
  Fixture fixture;
  fixture.jobs.start(fixture.instance,
                     {InstanceId{1}, FutureId{1}, Tokenize{.text = std::string(5000, 'x')}},
                     {.codec = &fixture.codec});
  fixture.jobs.start(fixture.instance,
                     {InstanceId{1}, FutureId{2}, ApplyChatTemplate{.request = "{}"}},
                     {.codec = &fixture.codec});
  EXPECT_TRUE(fixture.answers.by_future.empty());
  EXPECT_EQ(fixture.instance.unfinished.job_count, 2u);
  fixture.help();
  EXPECT_EQ(std::get<Tokens>(fixture.answers.by_future.at(FutureId{1}).value()).ids.size(), 5000u);
  EXPECT_EQ(fixture.answers.by_future.at(FutureId{2}).error().code(), ErrorCode::NotSupported);
  EXPECT_TRUE(fixture.jobs.idle());
  EXPECT_EQ(fixture.instance.unfinished.job_count, 0u);
}

TEST(TextJobs, MoreThanTheHelperHasWaitTheirTurnAndNoneIsLost) {
  Fixture fixture;
  constexpr std::uint32_t kCount = 3 * kOnHelper + 1;
  for (std::uint32_t index = 1; index <= kCount; ++index) {
    fixture.start_template(fixture.instance, index);
  }
  EXPECT_EQ(fixture.helper.jobs.size(), kOnHelper);
  EXPECT_EQ(fixture.instance.unfinished.job_count, kCount);
  while (!fixture.jobs.idle()) fixture.help();
  EXPECT_EQ(fixture.answers.by_future.size(), kCount);
}

TEST(TextJobs, AForgottenJobThatRunsIsNotAnsweredAndCountsUntilItIsDone) {
  Fixture fixture;
  fixture.start_template(fixture.instance, 1);
  fixture.start_template(fixture.instance, 2);
  fixture.start_template(fixture.other, 3);
  fixture.jobs.forget(InstanceId{1}, FutureId{1});
  EXPECT_EQ(fixture.instance.unfinished.job_count, 2u);
  fixture.jobs.forget_all(InstanceId{2});
  EXPECT_EQ(fixture.other.unfinished.job_count, 0u);
  fixture.help();
  EXPECT_EQ(fixture.instance.unfinished.job_count, 0u);
  EXPECT_EQ(fixture.answers.by_future.size(), 1u);
  EXPECT_TRUE(fixture.has(2));
}

TEST(TextJobs, AForgottenJobThatWaitsIsNeverDoneAndCountsNoMore) {
  Fixture fixture;
  for (std::uint32_t index = 1; index <= kOnHelper; ++index) {
    fixture.start_template(fixture.instance, index);
  }
  for (std::uint32_t index = 1000; index < 2000; ++index) {
    fixture.start_template(fixture.instance, index);
    fixture.jobs.forget(InstanceId{1}, FutureId{index});
    EXPECT_EQ(fixture.instance.unfinished.job_count, kOnHelper);
  }
  fixture.help();
  EXPECT_TRUE(fixture.jobs.idle()) << "the helper was given what nobody waits for";
  EXPECT_EQ(fixture.answers.by_future.size(), kOnHelper);
}

TEST(TextJobs, WhatAnInstanceThatEndsLeftWaitingIsNeverDone) {
  Fixture fixture;
  for (std::uint32_t index = 1; index <= 10 * kOnHelper; ++index) {
    fixture.start_template(fixture.instance, index);
  }
  fixture.jobs.forget_all(InstanceId{1});
  fixture.help();
  EXPECT_TRUE(fixture.jobs.idle());
  EXPECT_TRUE(fixture.answers.by_future.empty());
}

TEST(TextJobs, ATenantThatAsksForMuchDelaysNoOther) {
  Fixture fixture;
  for (std::uint32_t index = 1; index <= 1000; ++index) {
    fixture.start_template(fixture.instance, index);
  }
  fixture.start_template(fixture.other, 2001);
  fixture.start_template(fixture.other, 2002);
  fixture.help();
  EXPECT_FALSE(fixture.has(2001)) << "what the helper had goes first";
  fixture.help();
  EXPECT_TRUE(fixture.has(2001) && fixture.has(2002)) << "then they have turns with the thousand";
  EXPECT_TRUE(fixture.has(kOnHelper + 1)) << "which goes on, in order";
  EXPECT_FALSE(fixture.has(2 * kOnHelper));
}

// Grammars have a helper of their own, one at a time, on which tenants take turns.
TEST(TextJobs, WhatReadsGrammarsDelaysNoTemplateAndOtherTenantsByOneJob) {
  Fixture fixture;
  const auto grammar = std::make_shared<const LetterGrammar>();
  const auto ask = [&](Instance& of, std::uint32_t future) {
    fixture.jobs.start(of, {of.id, FutureId{future}, CheckText{.grammar = grammar, .text = "a"}},
                       {.codec = &fixture.codec});
    fixture.jobs.verify();
  };
  for (std::uint32_t index = 1; index <= 100; ++index) ask(fixture.instance, index);
  ask(fixture.other, 2001);
  fixture.start_template(fixture.other, 2002);
  EXPECT_EQ(fixture.grammars.jobs.size(), 1u);
  EXPECT_EQ(fixture.helper.jobs.size(), 1u);
  EXPECT_EQ(fixture.jobs.count_of(InstanceId{2}).count, 2u);
  fixture.help();
  EXPECT_TRUE(fixture.has(1) && fixture.has(2002));
  EXPECT_FALSE(fixture.has(2001));
  fixture.help();
  EXPECT_TRUE(fixture.has(2001));
  EXPECT_FALSE(fixture.has(2));
  fixture.jobs.forget(InstanceId{1}, FutureId{50});
  fixture.jobs.forget_all(InstanceId{1});
  fixture.help();
  EXPECT_TRUE(fixture.jobs.idle());
  EXPECT_FALSE(fixture.has(50) || fixture.has(100));
}

TEST(TextJobs, TheHelperThreadRunsThemAndWakesTheEngine) {
  Fixture fixture;
  const std::unique_ptr<HelperThread> helper = HelperThread::start("texts").take();
  TextJobs jobs(fixture.inbox, {.texts = helper.get(), .grammars = helper.get()},
                fixture.dispatcher);
  jobs.start(fixture.instance,
             {InstanceId{1}, FutureId{1}, Tokenize{.text = std::string(5000, 'x')}},
             {.codec = &fixture.codec});
  while (!jobs.idle()) {
    fixture.wakeup.wait_for(std::chrono::seconds(10));
    while (auto outcome = fixture.inbox.take_text()) jobs.finish(std::move(*outcome));
  }
  EXPECT_EQ(fixture.answers.by_future.size(), 1u);
}

}  // namespace
}  // namespace quire::control
