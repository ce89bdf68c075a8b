// The loop in the host, as a guest sees it, around a control layer that answers what the test says.
#include "application/hostcalls/generation.h"

#include <gtest/gtest.h>

#include "application/hostcalls/hostcalls_fixture.h"
#include "quire/draw_rule.h"

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
  std::int64_t rule_of(double temperature) {
    DrawRule rule;
    rule.temperature = temperature;
    const std::vector<std::uint8_t> options = draw_options(rule);
    host->put(kBuffer, {reinterpret_cast<const char*>(options.data()), options.size()});
    return call("draw", "create-rule", {model, kBuffer, static_cast<std::int64_t>(options.size())});
  }
  std::int64_t generate(std::int64_t token_count_max, double temperature = 0.0) {
    const std::int64_t rule = rule_of(temperature);
    put(64, {9});
    return call("draw", "generate", {context, rule, 0, 0, 5, token_count_max, 64, 1, 0, 0});
  }
  void draw(std::uint32_t token) {
    answer(control::AnswerBody(drawn({token}, {.random_count = 1, .seq_len = ++seq_len})));
  }
  std::size_t step_count() const {
    std::size_t count = 0;
    for (const control::Command& each : control.commands) {
      count += std::holds_alternative<control::ContextDraw>(each.body) ? 1 : 0;
    }
    return count;
  }
  std::int64_t next(std::int64_t generation, std::int64_t count_min) {
    return call("draw", "next-draws", {generation, count_min});
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
    for (std::uint32_t at = 8; at < bytes; at += 16) out.push_back(number_at(kBuffer + at));
    EXPECT_EQ(number_at(kBuffer + 4), static_cast<std::int32_t>(out.size()) - 1);
    return out;
  }

  std::int64_t context = 0;
  std::uint32_t seq_len = 0;
};

TEST_F(Generations, GoOnWithoutTheGuestUntilAStopTokenAndGiveEachTokenOnce) {
  const std::int64_t generation = generate(100);
  ASSERT_GT(generation, 0);
  EXPECT_TRUE(last_command<control::ContextDraw>().queues_token);
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
    ASSERT_EQ(last_command<control::ContextDraw>().random, numbers.uniform());
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
  const std::int64_t stopped = call("draw", "stop-generation", {generation});
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
  answer(control::AnswerBody(drawn({5}, {.seq_len = 4, .is_full = true})));
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
  FutureRecord& record =
      *state->futures.find(GuestHandle{static_cast<std::int32_t>(first)}).value();
  EXPECT_EQ(record.result_bytes().size(), 8u + 16 * 4096);
  record.token_orders.clear();  // As if the guest, whose memory is smaller, had taken them.
  EXPECT_EQ(call("future", "drop", {first}), 0);
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

}  // namespace
}  // namespace quire::hostcalls
