// The loop in the host, as a guest sees it, around a control layer that answers what the test says.
#include "application/hostcalls/generation.h"

#include <gtest/gtest.h>

#include <bit>
#include <limits>

#include "application/hostcalls/hostcalls_fixture.h"

namespace quire::hostcalls {
namespace {

class Generations : public HostCalls {
 protected:
  void SetUp() override {
    HostCalls::SetUp();
    context = call("context", "create", {queue});
    put(64, {1, 2, 3});
    ASSERT_EQ(call("context", "append", {context, 64, 3}), 0);
    control.commands.clear();
  }
  static std::int64_t bits(double value) { return std::bit_cast<std::int64_t>(value); }
  std::int64_t generate(std::int64_t token_count_max, double temperature = 0.0) {
    put(64, {9});
    return call("sample", "generate",
                {context, bits(temperature), 0, bits(1.0), bits(0.0), 5, token_count_max, 64, 1});
  }
  void draw(std::uint32_t token) {
    answer(control::AnswerBody(control::Sampled{{token, 0.5f}, {.seq_len = ++seq_len}}));
  }
  std::size_t step_count() const {
    std::size_t count = 0;
    for (const control::Command& each : control.commands) {
      count += std::holds_alternative<control::ContextSample>(each.body) ? 1 : 0;
    }
    return count;
  }
  std::int64_t next(std::int64_t generation, std::int64_t count_min) {
    return call("sample", "next-tokens", {generation, count_min});
  }
  bool is_ready(std::int64_t future) {
    put(64, {static_cast<std::int32_t>(future)});
    return call("future", "poll", {64, 1, 128}) == 1;
  }
  // How it ended, then the tokens.
  std::vector<std::int32_t> taken(std::int64_t future) {
    const std::int64_t bytes = take(future);
    EXPECT_GE(bytes, 8);
    std::vector<std::int32_t> out{number_at(kBuffer)};
    for (std::uint32_t at = 8; at < bytes; at += 8) out.push_back(number_at(kBuffer + at));
    EXPECT_EQ(number_at(kBuffer + 4), static_cast<std::int32_t>(out.size()) - 1);
    return out;
  }

  std::int64_t context = 0;
  std::uint32_t seq_len = 0;
};

TEST_F(Generations, GoOnWithoutTheGuestUntilAStopTokenAndGiveEachTokenOnce) {
  const std::int64_t generation = generate(100);
  ASSERT_GT(generation, 0);
  EXPECT_TRUE(last_command<control::ContextSample>().queues_token);
  draw(4);
  draw(5);
  EXPECT_EQ(taken(next(generation, 2)), (std::vector{0, 4, 5}));
  const std::int64_t rest = next(generation, 10);
  EXPECT_EQ(next(generation, 1), minus(ErrorCode::AlreadyExists));
  draw(6);
  EXPECT_FALSE(is_ready(rest));
  draw(9);
  EXPECT_EQ(step_count(), 0u);
  EXPECT_EQ(taken(rest), (std::vector{1, 6, 9}));
  EXPECT_EQ(taken(next(generation, 1)), (std::vector{1}));
  EXPECT_EQ(call("context", "seq-len", {context}), 4);
  EXPECT_EQ(call("future", "drop", {generation}), 0);
  EXPECT_EQ(next(generation, 1), minus(ErrorCode::NotFound));
}

TEST_F(Generations, DrawWithTheRandomNumbersOfASampler) {
  ASSERT_GT(generate(3, 0.8), 0);
  sampling::Random numbers(5);
  for (int step = 0; step < 3; ++step) {
    ASSERT_EQ(last_command<control::ContextSample>().rule.random, numbers.uniform());
    draw(4);
  }
  EXPECT_EQ(step_count(), 0u);
}

TEST_F(Generations, KeepTheirContextFromBeingChangedUntilTheyEnd) {
  const std::int64_t generation = generate(100);
  put(64, {1});
  EXPECT_EQ(call("context", "append", {context, 64, 1}), minus(ErrorCode::Unavailable));
  EXPECT_EQ(call("context", "flush", {context}), minus(ErrorCode::Unavailable));
  EXPECT_EQ(call("context", "rewind", {context, 0}), minus(ErrorCode::Unavailable));
  EXPECT_EQ(generate(1), minus(ErrorCode::Unavailable));
  EXPECT_GT(call("context", "fork", {context}), 0);
  const std::int64_t stopped = call("sample", "stop-generation", {generation});
  EXPECT_FALSE(is_ready(stopped));
  draw(4);
  EXPECT_EQ(take(stopped), 0);
  put(64, {1});
  EXPECT_EQ(call("context", "append", {context, 64, 1}), 0);
  EXPECT_EQ(taken(next(generation, 1)), (std::vector{3, 4}));
}

TEST_F(Generations, EndWithTheirLengthWhereTheContextIsFull) {
  const std::int64_t generation = generate(100);
  draw(4);
  answer(control::AnswerBody(control::Sampled{{5, 0.5f}, {.seq_len = 4}, true}));
  EXPECT_EQ(step_count(), 0u);
  EXPECT_EQ(taken(next(generation, 5)), (std::vector{2, 4, 5}));
  const std::int64_t other = generate(100);  // Its first step is one too many.
  answer(Error(ErrorCode::OutOfRange, "too long"));
  EXPECT_EQ(take(next(other, 1)), minus(ErrorCode::OutOfRange));
}

TEST_F(Generations, TellAnErrorBehindTheTokensBeforeIt) {
  const std::int64_t generation = generate(100);
  draw(4);
  answer(Error(ErrorCode::NoFreePage, "none"));
  EXPECT_EQ(taken(next(generation, 5)), (std::vector{0, 4}));
  EXPECT_EQ(take(next(generation, 5)), minus(ErrorCode::NoFreePage));
  EXPECT_GT(call("context", "flush", {context}), 0);
}

TEST_F(Generations, TokensOfADroppedReaderAreTheNextOnes) {
  const std::int64_t generation = generate(3);
  draw(4);
  const std::int64_t given = next(generation, 1);
  ASSERT_TRUE(is_ready(given));
  EXPECT_EQ(call("future", "drop", {given}), 0);
  const std::int64_t waiting = next(generation, 3);
  EXPECT_EQ(call("future", "drop", {waiting}), 0);
  draw(5);
  draw(6);
  EXPECT_EQ(taken(next(generation, 1)), (std::vector{2, 4, 5, 6}));
}

TEST_F(Generations, TokensOfDroppedReadersComeInTheOrderInWhichTheyWereDrawn) {
  const std::int64_t generation = generate(5);
  const auto drawn = [&](std::uint32_t token) {
    draw(token);
    return next(generation, 1);
  };
  const std::int64_t first = drawn(4), second = drawn(5), third = drawn(6);
  EXPECT_EQ(call("future", "drop", {first}), 0);
  const std::int64_t around = drawn(7);  // The first token and the fourth.
  EXPECT_EQ(call("future", "drop", {third}), 0);
  EXPECT_EQ(call("future", "drop", {around}), 0);
  EXPECT_EQ(call("future", "drop", {second}), 0);
  draw(8);
  EXPECT_EQ(taken(next(generation, 1)), (std::vector{2, 4, 5, 6, 7, 8}));
}

TEST_F(Generations, PauseWhileTooManyTokensAreNotTaken) {
  const std::int64_t generation = generate(10'000);
  for (std::size_t drawn = 0; drawn < GenerationTable::kUntakenCountMax; ++drawn) {
    ASSERT_EQ(step_count(), 1u);
    draw(4);
  }
  EXPECT_EQ(step_count(), 0u);
  const std::int64_t first = next(generation, 1);
  EXPECT_EQ(call("future", "take", {first, 8192, 50'000}), 8 + 8 * 4096);
  const std::int64_t more = next(generation, 1);
  EXPECT_EQ(step_count(), 1u);
  draw(5);
  EXPECT_EQ(taken(more), (std::vector{0, 5}));
}

TEST_F(Generations, EndWithTheirContextOrTheirHandleAndLeaveNothing) {
  std::int64_t generation = generate(100);
  const std::int64_t reader = next(generation, 1);
  EXPECT_EQ(call("future", "drop", {context}), 0);
  EXPECT_EQ(take(reader), minus(ErrorCode::Cancelled));
  draw(4);  // Of the step that was under way.
  EXPECT_EQ(call("future", "drop", {generation}), 0);
  context = call("context", "create", {queue});
  control.commands.clear();
  generation = generate(100);
  EXPECT_EQ(call("future", "drop", {generation}), 0);
  put(64, {1});
  EXPECT_EQ(call("context", "append", {context, 64, 1}), 0);
  draw(4);
  EXPECT_EQ(step_count(), 0u);
  EXPECT_EQ(state->handles.count(HandleKind::Future), 0u);
  EXPECT_EQ(state->handles.count(HandleKind::Generation), 0u);
}

TEST_F(Generations, RefuseNumbersThatMeanNothing) {
  const auto sample = [&](double temperature, double top_p, double min_p, double at) {
    return call("sample", "forward-sample",
                {context, bits(temperature), 0, bits(top_p), bits(min_p), bits(at), 0});
  };
  const double none = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(sample(none, 1, 0, 0), minus(ErrorCode::InvalidArgument));
  EXPECT_EQ(sample(-1, 1, 0, 0), minus(ErrorCode::InvalidArgument));
  EXPECT_EQ(sample(1e300, 1, 0, 0), minus(ErrorCode::InvalidArgument));
  EXPECT_EQ(sample(1, 1.1, 0, 0), minus(ErrorCode::InvalidArgument));
  EXPECT_EQ(sample(1, 1, none, 0), minus(ErrorCode::InvalidArgument));
  EXPECT_EQ(sample(1, 1, 0, 1), minus(ErrorCode::InvalidArgument));
  EXPECT_EQ(state->last_error, "random must be from 0 up to, not including, 1, not 1");
  EXPECT_GT(sample(1, 1, 0, 0.999), 0);
  put(64, {100});
  EXPECT_EQ(call("sample", "generate", {context, bits(0), 0, bits(1.0), bits(0.0), 5, 1, 64, 1}),
            minus(ErrorCode::OutOfRange));
}

}  // namespace
}  // namespace quire::hostcalls
