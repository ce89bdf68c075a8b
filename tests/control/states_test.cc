// Models with states: what is found, what is computed again, and what such a model does not do.
#include <gtest/gtest.h>

#include "control/conversation.h"

namespace quire::control::states_test {
namespace {

Harness::Options with_states(std::uint32_t state_count) {
  Harness::Options options;
  options.device.page_count = 400;
  options.device.row_count_max = 256;
  options.device.state_count = state_count;
  return options;
}

// A program with one context.
struct Program {
  explicit Program(Harness& of, TenantId tenant = TenantId{1})
      : harness(of), guest(of.start(tenant)), queue(of.queue(guest)) {
    context = of.context(guest, queue);
  }

  ContextCounters flush(const std::vector<std::uint32_t>& tokens) {
    harness.send(guest, ContextAppend{context, tokens}, false);
    const FutureId future = harness.send(guest, ContextFlush{context});
    harness.run_until(guest, future);
    return harness.get<ContextState>(guest, future).counters;
  }
  std::vector<std::uint32_t> generate(std::uint32_t count) {
    std::vector<std::uint32_t> tokens;
    const std::vector<ObjectId> output = harness.embeds(guest, queue, 1);
    for (std::uint32_t each = 0; each < count; ++each) {
      harness.send(guest, ContextForward{context, output}, false);
      const FutureId next = harness.send(guest, GetNextDist{queue, output[0], 4});
      harness.run_until(guest, next);
      tokens.push_back(harness.get<NextDistribution>(guest, next).tokens.front());
      harness.send(guest, ContextAppend{context, {tokens.back()}}, false);
    }
    return tokens;
  }
  std::string refusal(CommandBody body) {
    const FutureId future = harness.send(guest, std::move(body));
    harness.run_until(guest, future);
    EXPECT_EQ(harness.error(guest, future), ErrorCode::NotSupported);
    return harness.message(guest, future);
  }

  Harness& harness;
  InstanceId guest;
  ObjectId queue;
  ObjectId context{};
};

std::uint64_t rows(const Harness& harness) {
  return harness.controller->statistics().row_count;
}

TEST(States, APrefixIsFoundUpToItsLastWholePage) {
  Harness harness(with_states(8));
  Program(harness).flush(count_tokens(200));
  const std::uint64_t before = rows(harness);
  const ContextCounters counters = Program(harness).flush(count_tokens(200));
  EXPECT_EQ(counters.found_token_count, 192u);
  EXPECT_EQ(rows(harness) - before, 8u);
}

TEST(States, ABranchBeginsWithTheNearestMultiple) {
  Harness harness(with_states(8));
  std::vector<std::uint32_t> text = count_tokens(2'500);
  for (std::uint32_t& token : text) token %= 512;
  Program(harness).flush(text);
  text.resize(2'300);
  text.back() = 500;
  const std::uint64_t before = rows(harness);
  const ContextCounters counters = Program(harness).flush(text);
  EXPECT_EQ(counters.found_token_count, 2u * kStateMultiple);
  EXPECT_EQ(rows(harness) - before, 2'300u - 2u * kStateMultiple);
  EXPECT_GT(harness.controller->statistics().states.replayed_token_count, 200u);
}

TEST(States, AReplayedTokenIsNoFoundToken) {
  Harness harness(with_states(2));
  Program first(harness);
  first.flush(count_tokens(200));
  Program(harness).flush(count_tokens(100, 300));  // It takes both slots.
  const std::uint64_t before = rows(harness);
  const ContextCounters counters = Program(harness).flush(count_tokens(200));
  EXPECT_EQ(counters.found_token_count, 0u);
  EXPECT_EQ(rows(harness) - before, 200u);
}

TEST(States, TokensTakenBackFromTheLastPassReplayTheOthersOfItAlone) {
  Harness harness(with_states(8));
  Program program(harness);
  program.flush(count_tokens(200));
  program.flush(count_tokens(7, 50));
  program.harness.send(program.guest, ContextEdit{program.context, ContextEditKind::Truncate, 3},
                       false);
  const std::uint64_t before = rows(harness);
  program.flush(count_tokens(1, 90));
  EXPECT_EQ(rows(harness) - before, 4u + 1u);
}

TEST(States, SixteenConversationsGiveTheSameTokensInFewSlots) {
  std::vector<std::vector<std::vector<std::uint32_t>>> given;
  for (const std::uint32_t state_count : {64u, 20u, 3u, 2u}) {
    Harness harness(with_states(state_count));
    std::vector<Conversation> talks;
    for (std::uint32_t each = 0; each < 16; ++each)
      talks.push_back(begin(harness, 1 + each, 40, 20));
    converse(harness, talks);
    given.emplace_back();
    for (const Conversation& talk : talks) {
      EXPECT_EQ(talk.error, "");
      given.back().push_back(talk.tokens);
    }
    EXPECT_EQ(given.back(), given.front()) << state_count << " slots";
  }
}

TEST(States, AForkCopiesNothingAndGoesItsOwnWay) {
  Harness harness(with_states(8));
  Program program(harness);
  program.flush(count_tokens(200));
  Program child(harness);
  child.guest = program.guest;
  child.queue = program.queue;
  child.context = harness.new_object();
  const std::uint64_t before = rows(harness);
  harness.send(program.guest, ContextFork{program.context, child.context}, false);
  const std::vector<std::uint32_t> own = program.generate(30);
  EXPECT_EQ(child.generate(30), own);
  EXPECT_LE(rows(harness) - before, 2u * 31u) << "something was computed again";
}

TEST(States, AnotherTenantsStateIsNotFound) {
  Harness harness(with_states(8));
  Program(harness).flush(count_tokens(200));
  const std::uint64_t before = rows(harness);
  const ContextCounters counters = Program(harness, TenantId{2}).flush(count_tokens(200));
  EXPECT_EQ(counters.found_token_count, 0u);
  EXPECT_EQ(rows(harness) - before, 200u);
}

TEST(States, WhatSuchAModelDoesNotDoIsRefusedByName) {
  Harness harness(with_states(8));
  Program program(harness);
  program.flush(count_tokens(40));
  const ObjectId page = harness.pages(program.guest, program.queue, 1)[0];
  const ObjectId embed = harness.embeds(program.guest, program.queue, 1)[0];
  EXPECT_NE(program.refusal(ContextDropRange{program.context, 0, 8}).find("drop_range"),
            std::string::npos);
  EXPECT_NE(program.refusal(MaskPage{program.queue, page, std::vector<std::uint8_t>(16, 1)})
                .find("mask_kvpage"),
            std::string::npos);
  const Forward forward{program.queue, {}, {embed}, {page}, {}, {}, false};
  EXPECT_NE(program.refusal(forward).find("context.forward"), std::string::npos);
}

}  // namespace
}  // namespace quire::control::states_test
