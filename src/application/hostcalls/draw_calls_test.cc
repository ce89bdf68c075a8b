// The calls of interface draw: what is checked at once, what a command and its record look like, and
// what uses a matcher for how long.
#include <bit>
#include <limits>
#include <optional>

#include "application/hostcalls/hostcalls_fixture.h"
#include "quire/draw_rule.h"

namespace quire::hostcalls::draw_calls_test {
namespace {

constexpr std::uint32_t kMatchers = 64;
constexpr std::uint32_t kMask = 256;
constexpr std::uint32_t kTokens = 512;
constexpr std::uint32_t kRandoms = 1024;
constexpr std::uint32_t kEmbeds = 2048;
constexpr std::int64_t kQueues = 1;
constexpr std::int64_t kNoneForced = 2;

class DrawCalls : public HostCalls {
 protected:
  void SetUp() override {
    HostCalls::SetUp();
    begin();
  }
  void begin() {
    context = call("context", "create", {queue});
    rule = make_rule(model, {.temperature = 0.8});
    grammar = make_grammar();
    control.commands.clear();
  }

  std::int64_t make_rule(std::int64_t of, const DrawRule& wanted) {
    const std::vector<std::uint8_t> options = draw_options(wanted);
    host->put(kBuffer, {reinterpret_cast<const char*>(options.data()), options.size()});
    return call("draw", "create-rule", {of, kBuffer, static_cast<std::int64_t>(options.size())});
  }
  std::int64_t make_grammar() {
    host->put(kTokens, "a*");
    const std::int64_t future = call("constraint", "compile-grammar", {model, 1, kTokens, 2});
    answer(control::AnswerBody(control::CompiledGrammar{some_grammar()}));
    EXPECT_EQ(take(future), 4);
    return number_at(kBuffer);
  }
  std::int64_t make_matcher() { return call("constraint", "create-matcher", {grammar}); }
  std::int64_t put_handles(std::uint32_t address, const std::vector<std::int64_t>& handles) {
    const std::vector<std::int32_t> numbers(handles.begin(), handles.end());
    put(address, numbers);
    return static_cast<std::int64_t>(handles.size());
  }
  std::int64_t put_randoms(const std::vector<double>& randoms) {
    host->put(kRandoms,
              {reinterpret_cast<const char*>(randoms.data()), randoms.size() * sizeof(double)});
    return static_cast<std::int64_t>(randoms.size());
  }
  static std::int64_t bits(double value) { return std::bit_cast<std::int64_t>(value); }

  std::int64_t draw(const std::vector<std::int64_t>& matchers, std::int64_t flags = kQueues,
                    double at = 0.5, std::int64_t top_count = 0) {
    const std::int64_t count = put_handles(kMatchers, matchers);
    return call("draw", "forward-draw",
                {context, rule, kMatchers, count, 0, 0, bits(at), top_count, flags});
  }
  std::int64_t draw_masked(const std::vector<std::uint32_t>& words) {
    host->put(kMask, {reinterpret_cast<const char*>(words.data()), words.size() * 4});
    return call(
        "draw", "forward-draw",
        {context, rule, 0, 0, kMask, static_cast<std::int64_t>(words.size()), bits(0.5), 0, 0});
  }
  std::int64_t verify(const std::vector<std::int32_t>& drafts, const std::vector<double>& randoms,
                      std::int64_t flags = kQueues) {
    put(kTokens, drafts);
    const std::int64_t random_count = put_randoms(randoms);
    return call("draw", "verify",
                {context, rule, 0, 0, 0, 0, kTokens, static_cast<std::int64_t>(drafts.size()),
                 kRandoms, random_count, 0, flags});
  }
  std::int64_t generate(const std::vector<std::int64_t>& matchers, std::int64_t token_count_max,
                        std::int64_t top_count = 0, std::int64_t flags = 0) {
    const std::int64_t count = put_handles(kMatchers, matchers);
    put(kTokens, {stop_token});
    return call(
        "draw", "generate",
        {context, rule, kMatchers, count, 5, token_count_max, kTokens, 1, top_count, flags});
  }
  std::string record(std::int64_t future) {
    const std::int64_t bytes = call("future", "take", {future, kBuffer, 50'000});
    EXPECT_GE(bytes, 0);
    return std::string(reinterpret_cast<const char*>(host->memory().data() + kBuffer),
                       static_cast<std::size_t>(std::max<std::int64_t>(bytes, 0)));
  }
  // How it ended, then the tokens.
  static std::vector<std::uint32_t> summary(const std::string& bytes) {
    const auto at = [&](std::size_t place) {
      std::uint32_t value = 0;
      std::memcpy(&value, bytes.data() + place, sizeof value);
      return value;
    };
    std::vector<std::uint32_t> out{at(0)};
    std::size_t place = 8;
    for (std::uint32_t i = 0; i < at(4); ++i) {
      out.push_back(at(place));
      place += 16 + 8 * std::size_t{at(place + 12)};
    }
    EXPECT_EQ(place, bytes.size());
    return out;
  }
  std::uint64_t queued() const {
    return state->contexts.at(static_cast<std::uint32_t>(context)).queued_tokens();
  }
  void refused(std::int64_t result, ErrorCode code, const std::string& words) {
    EXPECT_EQ(result, minus(code)) << state->last_error;
    EXPECT_NE(state->last_error.find(words), std::string::npos) << state->last_error;
  }

  std::int64_t context = 0, rule = 0, grammar = 0;
  std::int32_t stop_token = 9;  // Of generate().
};

TEST_F(DrawCalls, ARuleIsReadOnceAndGoesWithEachCommand) {
  ASSERT_GT(rule, 0);
  ASSERT_GT(draw({}), 0);
  const auto first = last_command<control::ContextDraw>();
  EXPECT_DOUBLE_EQ(first.draw.rule->temperature, 0.8);
  EXPECT_EQ(first.draw.more, nullptr);
  EXPECT_EQ(first.random, 0.5);
  EXPECT_TRUE(first.queues_token);
  EXPECT_EQ(call("future", "drop", {rule}), 0);
  EXPECT_DOUBLE_EQ(first.draw.rule->temperature, 0.8);
  refused(draw({}), ErrorCode::NotFound, "no rule has the handle");
}

TEST_F(DrawCalls, WrongOptionsOfARuleAreNamed) {
  for (const double wrong :
       {-1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    refused(make_rule(model, {.temperature = wrong}), ErrorCode::InvalidArgument, "temperature");
    refused(make_rule(model, {.top_p = wrong}), ErrorCode::InvalidArgument, "top_p");
  }
  put(kBuffer, {77, 4, 0});
  refused(call("draw", "create-rule", {model, kBuffer, 12}), ErrorCode::NotSupported, "77");
  refused(call("draw", "create-rule", {model, kBuffer, 65'537}), ErrorCode::TooLarge, "65537");
  refused(make_rule(queue, {}), ErrorCode::NotFound, "no model");
}

TEST_F(DrawCalls, RulesGrammarsAndMatchersHaveLimitsByName) {
  GuestLimits limits;
  limits.rule_count_max = 2;
  limits.grammar_count_max = 1;
  limits.matcher_count_max = 1;
  restart(limits, {});
  begin();
  EXPECT_GT(make_rule(model, {}), 0);
  refused(make_rule(model, {}), ErrorCode::QuotaExceeded, "rule_count_max");
  refused(call("constraint", "compile-grammar", {model, 1, kTokens, 2}), ErrorCode::QuotaExceeded,
          "grammar_count_max");
  const std::int64_t matcher = make_matcher();
  ASSERT_GT(matcher, 0);
  refused(make_matcher(), ErrorCode::QuotaExceeded, "matcher_count_max");
  refused(call("constraint", "fork-matcher", {matcher}), ErrorCode::QuotaExceeded,
          "matcher_count_max");
  EXPECT_EQ(call("future", "drop", {matcher}), 0);
  EXPECT_GT(make_matcher(), 0);
}

TEST_F(DrawCalls, RandomNumbersAreFromZeroUpToNotIncludingOne) {
  for (const double wrong : {-0.001, 1.0, std::numeric_limits<double>::quiet_NaN(),
                             std::numeric_limits<double>::infinity()}) {
    refused(draw({}, 0, wrong), ErrorCode::InvalidArgument, "random must be");
    refused(verify({1}, {0.5, wrong}), ErrorCode::InvalidArgument, "randoms[1] must be");
  }
  EXPECT_GT(draw({}, 0, 0.0), 0);
  EXPECT_GT(draw({}, 0, 0.9999999), 0);
}

TEST_F(DrawCalls, AMaskHasTheWordsOfTheVocabularyAndAllowsOneOfItsTokens) {
  ASSERT_GT(draw_masked({1, 0, 0, 0}), 0);  // The vocabulary has 100 tokens.
  EXPECT_EQ(*last_command<control::ContextDraw>().draw.more->mask,
            (std::vector<std::uint32_t>{1, 0, 0, 0}));
  refused(draw_masked({1, 0, 0}), ErrorCode::InvalidArgument, "3 words given");
  refused(draw_masked({1, 0, 0, 0, 0}), ErrorCode::InvalidArgument, "needs 4");
  refused(draw_masked({0, 0, 0, 0}), ErrorCode::InvalidArgument, "none of the 100 tokens");
  refused(draw_masked({1, 0, 0, 0x10}), ErrorCode::InvalidArgument, "beyond the vocabulary");
  EXPECT_GT(draw_masked({0, 0, 0, 0x8}), 0);
}

TEST_F(DrawCalls, WhatNamesNothingIsRefusedWithItsNumber) {
  refused(draw({}, 4), ErrorCode::InvalidArgument, "flags: 4");
  refused(draw({}, 0, 0.5, 65), ErrorCode::InvalidArgument, "top_count: 65 is more than 64");
  refused(generate({}, 1, 0, kQueues), ErrorCode::InvalidArgument, "flags: 1");
  stop_token = 100;  // The vocabulary has 100.
  refused(generate({}, 1), ErrorCode::OutOfRange, "100");
  const std::int64_t other_model = [&] {
    host->put(kBuffer, "mute");
    return call("models", "get-model", {kBuffer, 4});
  }();
  refused(make_rule(other_model, {}), ErrorCode::NotSupported, "output_text");
  control.give_traits(1, {"allocate", "forward", "output_text", "constraint"});
  rule = make_rule(other_model, {});
  refused(draw({}), ErrorCode::InvalidArgument, "another model");
}

TEST_F(DrawCalls, MatchersOfADrawAreEightAtMostEachOnceAndOfTheModel) {
  std::vector<std::int64_t> nine;
  for (int i = 0; i < 9; ++i) nine.push_back(make_matcher());
  refused(draw(nine), ErrorCode::InvalidArgument, "9 in one draw");
  refused(draw({nine[0], nine[1], nine[0]}), ErrorCode::InvalidArgument, "matchers[2]");
  refused(draw({nine[0], grammar}), ErrorCode::NotFound, "matchers[1]");
  EXPECT_GT(draw({nine.begin(), nine.begin() + 8}), 0);
  const auto& more = *last_command<control::ContextDraw>().draw.more;
  EXPECT_EQ(more.matchers.size(), 8u);
  EXPECT_TRUE(more.forces_tokens);
  EXPECT_GT(draw({nine[8]}, kNoneForced), 0);
  EXPECT_FALSE(last_command<control::ContextDraw>().draw.more->forces_tokens);
}

TEST_F(DrawCalls, AMatcherIsUnavailableUntilItsDrawIsAnsweredOrDropped) {
  const std::int64_t matcher = make_matcher();
  control.commands.clear();
  const std::int64_t future = draw({matcher});
  const std::string words = "matcher " + std::to_string(matcher) + " is used by a draw until its " +
                            "future " + std::to_string(future);
  refused(draw({matcher}), ErrorCode::Unavailable, words);
  refused(call("constraint", "token-mask", {matcher}), ErrorCode::Unavailable, words);
  refused(call("constraint", "accept-tokens", {matcher, kTokens, 0}), ErrorCode::Unavailable,
          words);
  refused(call("constraint", "roll-back", {matcher, 0}), ErrorCode::Unavailable, words);
  refused(call("constraint", "forced-tokens", {matcher, 1}), ErrorCode::Unavailable, words);
  refused(call("constraint", "fork-matcher", {matcher}), ErrorCode::Unavailable, words);
  answer(control::AnswerBody(drawn({4})));
  const std::int64_t second = draw({matcher});
  EXPECT_GT(second, 0);
  EXPECT_EQ(call("future", "drop", {second}), 0);
  EXPECT_GT(call("constraint", "token-mask", {matcher}), 0);
  control.commands.clear();
  const std::int64_t third = draw({matcher});
  answer(Error(ErrorCode::NoFreePage, "none"));
  EXPECT_EQ(take(third), minus(ErrorCode::NoFreePage));
  EXPECT_GT(draw({matcher}), 0);
}

TEST_F(DrawCalls, AMatcherDroppedWhileADrawUsesItGoesWhenTheDrawHasEnded) {
  const std::int64_t matcher = make_matcher();
  control.commands.clear();
  const std::int64_t future = draw({matcher});
  EXPECT_EQ(call("future", "drop", {matcher}), 0);
  EXPECT_EQ(call("future", "drop", {matcher}), minus(ErrorCode::NotFound));
  EXPECT_TRUE(std::holds_alternative<control::ContextDraw>(control.commands.back().body));
  answer(control::AnswerBody(drawn({4})));
  EXPECT_EQ(last_command<control::DropMatcher>().matcher,
            control::ObjectId{static_cast<std::uint32_t>(matcher)});
  EXPECT_GT(take(future), 0);
}

TEST_F(DrawCalls, ADrawIsARecordWithTheMostProbableTokensOfEachPlace) {
  const std::int64_t future = draw({}, kQueues, 0.5, 2);
  EXPECT_EQ(last_command<control::ContextDraw>().draw.more->top_count, 2u);
  control::Draws draws = drawn({4, 7}, {.seq_len = 3});
  draws.all[0].is_forced = true;
  draws.top_tokens = {4, 5, 7, 8};
  draws.top_probabilities = {0.5f, 0.25f, 0.5f, 0.125f};
  answer(control::AnswerBody(draws));
  EXPECT_EQ(call("context", "seq-len", {context}), 3);
  const std::string bytes = record(future);
  EXPECT_EQ(summary(bytes), (std::vector<std::uint32_t>{0, 4, 7}));
  EXPECT_EQ(bytes.size(), 8u + 2 * (16 + 2 * 8));
  const std::int32_t flags[] = {number_at(kBuffer + 16), number_at(kBuffer + 16 + 32)};
  EXPECT_EQ(flags[0], 1);
  EXPECT_EQ(flags[1], 0);
  EXPECT_EQ(number_at(kBuffer + 24), 4);
  EXPECT_EQ(number_at(kBuffer + 32), 5);
}

TEST_F(DrawCalls, ARecordStatesHowManyDraftsWereComputedIfTheProgramAsks) {
  const auto flags_of = [&](std::int64_t flags) {
    const std::int64_t future = verify({5, 9, 3}, {0.1, 0.2, 0.3, 0.4}, flags);
    const bool is_asked = last_command<control::ContextDraw>().drafts->are_counted;
    control::Draws draws = drawn({5, 7});
    draws.all[0].is_forced = true;
    draws.draft_count = is_asked ? 2 : 0;
    answer(control::AnswerBody(draws));
    EXPECT_EQ(summary(record(future)), (std::vector<std::uint32_t>{0, 5, 7}));
    return std::pair(number_at(kBuffer + 16), number_at(kBuffer + 32));
  };
  constexpr std::int64_t kCounts = 4;
  EXPECT_EQ(flags_of(kQueues), std::pair(1, 0));
  EXPECT_EQ(flags_of(kQueues | kCounts), std::pair(1 | 2 << 8, 0));
  refused(verify({5}, {0.1, 0.2}, 8), ErrorCode::InvalidArgument, "flags");
  refused(draw({}, kQueues | kCounts), ErrorCode::InvalidArgument, "flags");
}

TEST_F(DrawCalls, TheTokenOfADrawIsQueuedFromItsIssueAndGivenBackWhereNoneIsDrawn) {
  const std::int64_t matcher = make_matcher();
  put(kTokens, {1, 2, 3});
  ASSERT_EQ(call("context", "append", {context, kTokens, 3}), 0);
  draw({matcher});
  EXPECT_EQ(queued(), 4u);
  answer(control::AnswerBody(drawn({4})));
  EXPECT_EQ(queued(), 1u);
  draw({matcher});
  EXPECT_EQ(queued(), 2u);
  answer(control::AnswerBody(drawn({}, {.end = control::DrawEnd::GrammarComplete})));
  EXPECT_EQ(queued(), 0u);
  const std::int64_t future = draw({matcher});
  answer(control::AnswerBody(drawn({5}, {.end = control::DrawEnd::NoTokenAllowed})));
  EXPECT_EQ(queued(), 0u);
  EXPECT_EQ(summary(record(future)), (std::vector<std::uint32_t>{5, 5}));
  draw({matcher});
  answer(Error(ErrorCode::NoFreePage, "none"));
  EXPECT_EQ(queued(), 0u);
  draw({}, 0);
  EXPECT_EQ(queued(), 0u);
  EXPECT_FALSE(last_command<control::ContextDraw>().queues_token);
}

TEST_F(DrawCalls, DraftsGoWithARandomNumberEachAndOneMore) {
  const std::int64_t future = verify({5, 9}, {0.1, 0.2, 0.3});
  const auto& body = last_command<control::ContextDraw>();
  EXPECT_EQ(body.random, 0.1);
  ASSERT_NE(body.drafts, nullptr);
  EXPECT_EQ(body.drafts->tokens, (std::vector<std::uint32_t>{5, 9}));
  EXPECT_EQ(body.drafts->randoms, (std::vector<double>{0.2, 0.3}));
  EXPECT_EQ(control.commands.back().argument_bytes, 2 * 4u + 3 * 8u);
  EXPECT_EQ(queued(), 1u);
  answer(control::AnswerBody(drawn({5, 8}, {.seq_len = 4})));
  EXPECT_EQ(summary(record(future)), (std::vector<std::uint32_t>{0, 5, 8}));
  EXPECT_EQ(queued(), 1u);
  refused(verify({5, 9}, {0.1, 0.2}), ErrorCode::InvalidArgument, "randoms: 2 numbers given, 3");
  refused(verify({5, 100}, {0.1, 0.2, 0.3}), ErrorCode::OutOfRange, "drafts[1]: 100");
  refused(verify(std::vector<std::int32_t>(65, 1), std::vector<double>(66, 0.0)),
          ErrorCode::TooLarge, "drafts: 65");
  EXPECT_GT(verify(std::vector<std::int32_t>(64, 1), std::vector<double>(65, 0.0)), 0);
  EXPECT_GT(verify({}, {0.5}), 0);
  EXPECT_EQ(last_command<control::ContextDraw>().drafts, nullptr);
}

TEST_F(DrawCalls, EmbedsAreDrawnFromEachWithItsRandomNumberAndWithoutAHistory) {
  call("allocate", "alloc-emb", {queue, 2, kEmbeds});
  control.commands.clear();
  put_randoms({0.25, 0.75});
  const auto draw_tokens = [&](std::int64_t embed_count, std::int64_t random_count) {
    return call("draw", "draw-tokens",
                {queue, kEmbeds, embed_count, rule, 0, 0, 0, 0, kRandoms, random_count, 0});
  };
  const std::int64_t future = draw_tokens(2, 2);
  EXPECT_EQ(last_command<control::DrawTokens>().randoms, (std::vector<double>{0.25, 0.75}));
  EXPECT_EQ(last_command<control::DrawTokens>().embeds.size(), 2u);
  answer(control::AnswerBody(drawn({4, 5})));
  EXPECT_EQ(summary(record(future)), (std::vector<std::uint32_t>{0, 4, 5}));
  refused(draw_tokens(2, 1), ErrorCode::InvalidArgument, "one for each embed");
  refused(draw_tokens(0, 0), ErrorCode::InvalidArgument, "embeds: the list is empty");
  refused(draw_tokens(257, 257), ErrorCode::TooLarge, "embeds: 257");
  rule = make_rule(model, {.repetition_penalty = 1.1});
  refused(draw_tokens(2, 2), ErrorCode::InvalidArgument, "has penalties");
  EXPECT_GT(draw({}), 0);
}

TEST_F(DrawCalls, ListsOfEmbedsAreOneReadWithTheMaskAndWithinItsSize) {
  call("allocate", "alloc-emb", {queue, 2, kEmbeds});
  control.commands.clear();
  put(kMask, {1, 0, 0, 0});
  const std::int64_t future = call("output", "get-next-dists", {queue, kEmbeds, 2, kMask, 4, 200});
  EXPECT_EQ(last_command<control::GetNextDists>().top_k, 100u);
  EXPECT_EQ(last_command<control::GetNextDists>().mask->at(0), 1u);
  EXPECT_EQ(control.commands.back().argument_bytes, 2 * 4u + 4 * 4u);
  answer(control::AnswerBody(control::NextDistributions{{{{7}, {0.5f}}, {{8, 9}, {0.5f, 0.25f}}}}));
  EXPECT_EQ(take(future), (4 + 8) + (4 + 16));
  put(kTokens, {5, 6});
  const std::int64_t logprobs = call("output", "get-logprobs-of", {queue, kEmbeds, 2, kTokens, 2});
  EXPECT_EQ(last_command<control::GetLogprobsOf>().tokens, (std::vector<std::uint32_t>{5, 6}));
  answer(control::AnswerBody(control::Values{{-1.0f, -2.0f}}));
  EXPECT_EQ(take(logprobs), 8 + 8);
  refused(call("output", "get-logprobs-of", {queue, kEmbeds, 2, kTokens, 1}),
          ErrorCode::InvalidArgument, "one for each embed");
  put(kTokens, {5, 100});
  refused(call("output", "get-logprobs-of", {queue, kEmbeds, 2, kTokens, 2}), ErrorCode::OutOfRange,
          "tokens[1]");
}

TEST_F(DrawCalls, TokenKindsAreABytePerTokenOfTheVocabulary) {
  const std::int64_t future = call("tokenize", "get-token-kinds", {model, 97, 3});
  EXPECT_EQ(last_command<control::GetTokenKinds>().first, 97u);
  answer(control::AnswerBody(control::TokenKinds{{0, 1, 4}}));
  EXPECT_EQ(take(future), 3);
  EXPECT_EQ(call("tokenize", "get-token-kinds", {model, 98, 3}), minus(ErrorCode::OutOfRange));
  EXPECT_EQ(call("tokenize", "get-token-kinds", {model, 0, 0}), minus(ErrorCode::OutOfRange));
}

TEST_F(DrawCalls, AGenerationGoesOnWithForcedTokensAndUsesRandomNumbersOfTheOthersAlone) {
  const std::int64_t matcher = make_matcher();
  control.commands.clear();
  const std::int64_t generation = generate({matcher}, 10, 1);
  sampling::Random numbers(5);
  const double first = numbers.uniform();
  const auto answer_draws = [&](const std::vector<std::uint32_t>& tokens,
                                std::uint32_t random_count) {
    control::Draws draws = drawn(tokens, {.random_count = random_count});
    draws.top_tokens.assign(tokens.size(), 3);
    draws.top_probabilities.assign(tokens.size(), 0.75f);
    answer(control::AnswerBody(draws));
  };
  EXPECT_EQ(last_command<control::ContextDraw>().draw.more->stop_tokens,
            (std::vector<std::uint32_t>{9}));
  EXPECT_EQ(last_command<control::ContextDraw>().count_max, 10u);
  EXPECT_EQ(last_command<control::ContextDraw>().random, first);
  answer_draws({4}, 0);
  EXPECT_EQ(last_command<control::ContextDraw>().random, first);
  EXPECT_EQ(last_command<control::ContextDraw>().count_max, 9u);
  answer_draws({5, 6, 7}, 1);
  EXPECT_EQ(last_command<control::ContextDraw>().random, numbers.uniform());
  EXPECT_EQ(last_command<control::ContextDraw>().count_max, 6u);
  const std::string bytes = record(call("draw", "next-draws", {generation, 4}));
  EXPECT_EQ(summary(bytes), (std::vector<std::uint32_t>{0, 4, 5, 6, 7}));
  EXPECT_EQ(bytes.size(), 8u + 4 * (16 + 8));
}

TEST_F(DrawCalls, AGenerationUsesItsMatchersUntilItEndsAndSaysHowItEnded) {
  const std::int64_t matcher = make_matcher();
  for (const auto end : {control::DrawEnd::GrammarComplete, control::DrawEnd::NoTokenAllowed,
                         control::DrawEnd::StopToken}) {
    control.commands.clear();
    const std::int64_t generation = generate({matcher}, 10);
    refused(call("constraint", "token-mask", {matcher}), ErrorCode::Unavailable,
            "is used by generation " + std::to_string(generation));
    const bool is_stop = end == control::DrawEnd::StopToken;
    answer(control::AnswerBody(drawn({is_stop ? 9u : 4u}, {.end = end})));
    EXPECT_EQ(summary(record(call("draw", "next-draws", {generation, 1}))),
              (std::vector<std::uint32_t>{static_cast<std::uint32_t>(end), is_stop ? 9u : 4u}));
    EXPECT_GT(call("constraint", "token-mask", {matcher}), 0);
    EXPECT_EQ(call("future", "drop", {generation}), 0);
  }
}

TEST_F(DrawCalls, AMatcherDroppedUnderAGenerationGoesWhenThatEnds) {
  const std::int64_t matcher = make_matcher();
  control.commands.clear();
  const std::int64_t generation = generate({matcher}, 10);
  EXPECT_EQ(call("future", "drop", {matcher}), 0);
  answer(control::AnswerBody(drawn({4})));
  EXPECT_TRUE(std::holds_alternative<control::ContextDraw>(control.commands.back().body));
  EXPECT_EQ(call("future", "drop", {generation}), 0);
  EXPECT_EQ(last_command<control::DropMatcher>().matcher,
            control::ObjectId{static_cast<std::uint32_t>(matcher)});
  EXPECT_GT(draw({}), 0);
}

TEST_F(DrawCalls, AGenerationWithTopTokensPausesBeforeTheyAreTooMany) {
  const std::int64_t generation = generate({}, 10'000, 64);
  std::size_t count = 0;
  while (!control.commands.empty()) {
    ASSERT_LT(count, 2000u);
    control::Draws draws = drawn({4}, {.random_count = 1});
    draws.top_tokens.assign(64, 3);
    draws.top_probabilities.assign(64, 0.01f);
    answer(control::AnswerBody(draws));
    ++count;
  }
  EXPECT_EQ(count, GenerationTable::kUntakenTopCountMax / 64);
  // A reader that waits for more than there is room for gets what there is.
  const std::int64_t reader = call("draw", "next-draws", {generation, 4096});
  put(64, {static_cast<std::int32_t>(reader)});
  EXPECT_EQ(call("future", "poll", {64, 1, 128}), 1);
  EXPECT_EQ(call("future", "drop", {reader}), 0);
}

TEST_F(DrawCalls, DrawsOfADroppedReaderAreTheNextOnesWithAllThatBelongsToThem) {
  const std::int64_t generation = generate({}, 2, 1);
  for (const std::uint32_t token : {4u, 5u}) {
    control::Draws draws = drawn({token}, {.random_count = 1});
    draws.all[0].is_forced = token == 5;
    draws.top_tokens = {token + 10};
    draws.top_probabilities = {0.75f};
    answer(control::AnswerBody(draws));
  }
  const std::int64_t given = call("draw", "next-draws", {generation, 1});
  EXPECT_EQ(call("future", "drop", {given}), 0);
  const std::string bytes = record(call("draw", "next-draws", {generation, 1}));
  EXPECT_EQ(summary(bytes), (std::vector<std::uint32_t>{2, 4, 5}));
  EXPECT_EQ(number_at(kBuffer + 8 + 24 + 8), 1);    // Forced.
  EXPECT_EQ(number_at(kBuffer + 8 + 24 + 16), 15);  // Its most probable one.
}

}  // namespace
}  // namespace quire::hostcalls::draw_calls_test
