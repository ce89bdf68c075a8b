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

  void append(const std::vector<std::uint32_t>& tokens) {
    harness.send(guest, ContextAppend{context, tokens}, false);
  }
  void mark() { harness.send(guest, ContextMark{context}, false); }
  void edit(ContextEditKind kind, std::uint32_t count) {
    harness.send(guest, ContextEdit{context, kind, count}, false);
  }
  Program fork() const {
    Program child = *this;
    child.context = harness.new_object();
    harness.send(guest, ContextFork{context, child.context}, false);
    return child;
  }
  ContextCounters flush(const std::vector<std::uint32_t>& tokens) {
    append(tokens);
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

TEST(States, AReplayThatAnotherContextDoesIsWaitedFor) {
  Harness harness(with_states(6));
  Program(harness).flush(count_tokens(200));
  for (std::uint32_t each = 0; each < 6; ++each)
    Program(harness).flush(count_tokens(40, 200 + 30 * each));
  const std::uint64_t before = rows(harness);
  std::vector<Program> programs;
  std::vector<FutureId> futures;
  for (std::uint32_t each = 0; each < 3; ++each) {
    Program& program = programs.emplace_back(harness);
    program.append(count_tokens(200));
    futures.push_back(harness.send(program.guest, ContextFlush{program.context}));
  }
  std::vector<std::uint32_t> found;
  for (std::uint32_t each = 0; each < 3; ++each) {
    harness.run_until(programs[each].guest, futures[each]);
    const auto counters = harness.get<ContextState>(programs[each].guest, futures[each]).counters;
    found.push_back(counters.found_token_count);
  }
  EXPECT_EQ(rows(harness) - before, 200u + 8u + 8u);
  EXPECT_EQ(found, (std::vector<std::uint32_t>{0, 192, 192}));
}

TEST(States, TokensTakenBackFromTheLastPassReplayTheOthersOfItAlone) {
  Harness harness(with_states(8));
  Program program(harness);
  program.flush(count_tokens(200));
  program.flush(count_tokens(7, 50));
  program.edit(ContextEditKind::Truncate, 3);
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

TEST(States, AMissSaysHowFarBackTheNextStateWas) {
  Harness::Options options = with_states(8);
  options.controller.miss_scope = MissScope::OwnDomain;
  Harness harness(options);
  Program(harness).flush(count_tokens(200));
  std::vector<std::uint32_t> other = count_tokens(130);
  other[119] = 511;
  Program branch(harness);
  branch.flush(other);
  const std::vector<InstanceMiss> misses = *harness.controller->misses(branch.guest);
  ASSERT_EQ(misses.size(), 2u);
  EXPECT_EQ(misses[0].reason, MissReason::NoState);
  EXPECT_EQ(misses[0].position, 0u);
  EXPECT_EQ(misses[0].token_count, 112u);
  EXPECT_EQ(misses[1].reason, MissReason::Differs);
  EXPECT_EQ(misses[1].position, 112u);
  EXPECT_EQ(misses[1].token_count, 18u);
}

// A prompt of 100 tokens, with a mark, and 60 that only this turn has.
void begin_turn(Program& program) {
  program.append(count_tokens(100));
  program.mark();
  program.append(count_tokens(60, 300));
}

TEST(States, AMarkAmongQueuedTokensIsWhereAnotherContextBegins) {
  Harness harness(with_states(8));
  Program first(harness);
  begin_turn(first);
  first.flush({});
  const std::uint64_t before = rows(harness);
  std::vector<std::uint32_t> next = count_tokens(100);
  next.push_back(7);
  EXPECT_EQ(Program(harness).flush(next).found_token_count, 96u);
  EXPECT_EQ(rows(harness) - before, 5u);
}

TEST(States, AMarkKeepsTheStateThatIsThere) {
  Harness harness(with_states(4));
  Program first(harness);
  first.flush(count_tokens(100));
  first.mark();
  for (std::uint32_t each = 0; each < 9; ++each)
    Program(harness).flush(count_tokens(40, 30 * each));
  const ContextCounters counters = Program(harness).flush(count_tokens(100));
  EXPECT_EQ(counters.found_token_count, 96u) << "others' turns took the marked state's slot";
}

TEST(States, AForkHasTheMarksThatWait) {
  Harness harness(with_states(8));
  Program parent(harness);
  begin_turn(parent);
  Program child = parent.fork();
  child.flush({});
  EXPECT_EQ(Program(harness).flush(count_tokens(99)).found_token_count, 96u);
}

TEST(States, ACutBeforeAMarkDropsIt) {
  for (const bool is_cut : {false, true}) {
    Harness harness(with_states(8));
    Program program(harness);
    begin_turn(program);
    program.edit(ContextEditKind::Truncate, is_cut ? 70 : 60);
    if (is_cut) program.append(count_tokens(10, 1 + 7 * 90));  // The same tokens once more.
    program.append(count_tokens(60, 300));
    program.flush({});
    const std::uint32_t found = Program(harness).flush(count_tokens(99)).found_token_count;
    EXPECT_EQ(found, is_cut ? 0u : 96u);
  }
}

TEST(States, MarksAreLostWhereNoSlotIsFreeAndNothingFails) {
  Harness harness(with_states(2));
  Program program(harness);
  for (std::uint32_t each = 0; each < 2 * kMarkCountMax; ++each) {
    program.append(count_tokens(16, 20 * each));
    program.mark();
  }
  EXPECT_EQ(program.flush({}).seq_len, 2 * kMarkCountMax * 16);
  EXPECT_EQ(program.generate(3).size(), 3u);
}

TEST(States, TheHintOfAContextIsOneForItsStates) {
  for (const ContextHintKind hint : {ContextHintKind::Done, ContextHintKind::WillResume}) {
    Harness harness(with_states(5));
    Program hinted(harness);
    hinted.flush(count_tokens(100));
    harness.send(hinted.guest, ContextHint{hinted.context, hint}, false);
    harness.send(hinted.guest, ContextDrop{hinted.context}, false);
    Program other(harness);
    other.flush(count_tokens(100, 300));
    harness.send(other.guest, ContextDrop{other.context}, false);
    Program(harness).flush(count_tokens(40, 400));
    Program(harness).flush(count_tokens(40, 450));
    const bool is_done = hint == ContextHintKind::Done;
    const std::vector<std::uint32_t> wanted = is_done ? count_tokens(100, 300) : count_tokens(100);
    EXPECT_EQ(Program(harness).flush(wanted).found_token_count, 96u);
  }
}

TEST(States, WithoutStatesAMarkChangesNothing) {
  std::vector<std::uint64_t> computed;
  for (const bool is_marked : {false, true}) {
    Harness harness(with_states(0));
    Program first(harness);
    first.append(count_tokens(100));
    if (is_marked) first.mark();
    first.flush({});
    EXPECT_EQ(Program(harness).flush(count_tokens(100)).found_token_count, 96u);
    computed.push_back(rows(harness));
  }
  EXPECT_EQ(computed[0], computed[1]);
}

TEST(States, AForkCopiesNothingAndGoesItsOwnWay) {
  Harness harness(with_states(8));
  Program program(harness);
  program.flush(count_tokens(200));
  const std::uint64_t before = rows(harness);
  Program child = program.fork();
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
