// Tokens that the device draws, and the other forms of a distribution, on the simulated device.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "base/random.h"
#include "control/harness.h"
#include "quire/draw_arithmetic.h"

namespace quire::control {
namespace {

class Sampling : public testing::Test {
 protected:
  Sampling() : id(harness.start()), queue(harness.queue(id)) {
    embed = harness.embeds(id, queue, 1).front();
  }
  ObjectId context_of(const std::vector<std::uint32_t>& tokens) {
    const ObjectId made = harness.context(id, queue);
    harness.send(id, ContextAppend{made, tokens}, false);
    return made;
  }
  template <typename T>
  T get(CommandBody body) {
    const FutureId future = harness.send(id, std::move(body));
    harness.run();
    return harness.get<T>(id, future);
  }
  double share() { return static_cast<double>(random.next() % 1000) / 1000.0; }
  DrawRule random_rule() {
    DrawRule rule;
    rule.temperature = random.next() % 4 == 0 ? 0.0 : share() * 2;
    rule.top_k = static_cast<std::uint32_t>(random.next() % 3 == 0 ? 0 : random.next() % 64);
    rule.top_p = random.next() % 2 == 0 ? 1.0 : share();
    rule.min_p = random.next() % 2 == 0 ? 0.0 : share() * 0.5;
    return rule;
  }
  // The token that the program would draw from get_next_dist.
  static std::uint32_t drawn_by_hand(const NextDistribution& next, const DrawRule& rule,
                                     double number) {
    DrawScratch scratch;
    return next.tokens[sampling::draw_index(next.probabilities, rule, number, scratch)];
  }
  static ContextDraw drawing(ObjectId context, bool queues_token, const DrawRule& rule = {},
                             double number = 0.0) {
    return {.context = context,
            .queues_token = queues_token,
            .draw = {.rule = std::make_shared<const DrawRule>(rule)},
            .random = number};
  }

  Harness harness;
  SeededRandom random{11};
  InstanceId id;
  ObjectId queue;
  ObjectId embed{};
};

TEST_F(Sampling, DrawsTheTokenThatTheProgramWouldDraw) {
  for (std::uint32_t round = 0; round < 200; ++round) {
    const std::vector<std::uint32_t> tokens = count_tokens(1 + round % 40, round);
    const DrawRule rule = random_rule();
    const double number = share();
    const ObjectId by_hand = context_of(tokens);
    harness.send(id, ContextForward{by_hand, {embed}}, false);
    const auto next = get<NextDistribution>(GetNextDist{queue, embed, 512});
    const auto drawn =
        get<Draws>(DrawTokens{.queue = queue,
                              .embeds = {embed, embed},
                              .draw = {.rule = std::make_shared<const DrawRule>(rule)},
                              .randoms = {number, number}});
    const auto sampled = get<Draws>(drawing(context_of(tokens), true, rule, number));
    const std::uint32_t expected = drawn_by_hand(next, rule, number);
    ASSERT_EQ(drawn.all.size(), 2u);
    ASSERT_EQ(drawn.all[0].token, expected) << round;
    ASSERT_EQ(drawn.all[1].token, expected) << round;
    ASSERT_EQ(sampled.all.front().token, expected) << round;
    ASSERT_EQ(sampled.all.front().probability, drawn.all[0].probability);
    ASSERT_EQ(sampled.counters.seq_len, tokens.size());
    ASSERT_EQ(sampled.counters.queued_token_count, 1u);
  }
}

TEST_F(Sampling, QueuesItsTokenBeforeWhatIsIssuedBehindIt) {
  const ObjectId context = context_of(count_tokens(20));
  const FutureId sample = harness.send(id, drawing(context, true));
  harness.begin_step();
  harness.send(id, ContextAppend{context, {7, 8}}, false);
  const FutureId flushed = harness.send(id, ContextFlush{context});
  harness.run();
  const auto sampled = harness.get<Draws>(id, sample);
  EXPECT_EQ(harness.get<ContextState>(id, flushed).counters.seq_len, 23u);
  std::vector<std::uint32_t> tokens = count_tokens(20);
  tokens.insert(tokens.end(), {sampled.all.front().token, 7, 8});
  harness.send(id, ContextForward{context, {embed}}, false);
  const auto next = get<NextDistribution>(GetNextDist{queue, embed, 8});
  harness.send(id, ContextForward{context_of(tokens), {embed}}, false);
  const auto expected = get<NextDistribution>(GetNextDist{queue, embed, 8});
  EXPECT_EQ(next.tokens, expected.tokens);
  EXPECT_EQ(next.probabilities, expected.probabilities);
}

TEST_F(Sampling, TokenIsQueuedThoughNobodyWaitsForIt) {
  const ObjectId context = context_of(count_tokens(20));
  const FutureId sample = harness.send(id, drawing(context, true));
  harness.begin_step();
  harness.send(id, DropFuture{sample}, false);
  EXPECT_EQ(get<ContextState>(ContextFlush{context}).counters.seq_len, 21u);
  EXPECT_FALSE(harness.has(id, sample));
}

TEST_F(Sampling, DrawsFromAPromptThatIsFoundWhole) {
  const std::vector<std::uint32_t> tokens = count_tokens(32);
  const auto first = get<Draws>(drawing(context_of(tokens), false));
  const auto second = get<Draws>(drawing(context_of(tokens), false));
  EXPECT_EQ(second.all.front().token, first.all.front().token);
  EXPECT_EQ(second.counters.found_token_count, 32u);
  const ObjectId empty = harness.context(id, queue);
  const FutureId nothing = harness.send(id, drawing(empty, false));
  harness.run();
  EXPECT_EQ(harness.error(id, nothing), ErrorCode::OutOfRange);
  EXPECT_EQ(harness.message(id, nothing), "the context is empty; append a token first");
}

TEST_F(Sampling, AListIsReadAsItsPartsAre) {
  const ObjectId context = context_of(count_tokens(9));
  const std::vector<ObjectId> outputs = harness.embeds(id, queue, 3);
  harness.send(id, ContextForward{context, outputs}, false);
  const auto all = get<NextDistributions>(GetNextDists{queue, outputs, nullptr, 8}).all;
  const std::vector<std::uint32_t> tokens = {3, 4, 5};
  const auto logprobs = get<Values>(GetLogprobsOf{queue, outputs, tokens}).all;
  auto mask = std::make_shared<std::vector<std::uint32_t>>(16, 0u);
  (*mask)[1] = 0b111;
  const auto masked = get<NextDistributions>(GetNextDists{queue, outputs, mask, 8}).all;
  ASSERT_EQ(all.size(), 3u);
  for (std::size_t each = 0; each < outputs.size(); ++each) {
    const auto one = get<NextDistribution>(GetNextDist{queue, outputs[each], 8});
    EXPECT_EQ(all[each].tokens, one.tokens);
    EXPECT_EQ(all[each].probabilities, one.probabilities);
    EXPECT_EQ(get<Values>(GetLogprobs{queue, outputs[each], {tokens[each]}}).all.at(0),
              logprobs[each]);
    // The distribution is of the three tokens alone, and adds up to 1.
    EXPECT_EQ(masked[each].tokens.size(), 3u);
    EXPECT_NEAR(
        std::accumulate(masked[each].probabilities.begin(), masked[each].probabilities.end(), 0.0),
        1.0, 1e-5);
  }
}

TEST_F(Sampling, FormsOfADistributionAgree) {
  harness.send(id, ContextForward{context_of(count_tokens(9)), {embed}}, false);
  const auto logits = get<Values>(GetLogits{queue, embed}).all;
  const double largest = static_cast<double>(*std::max_element(logits.begin(), logits.end()));
  double sum = 0;
  double weighted = 0;
  for (const float logit : logits) {
    const double shifted = static_cast<double>(logit) - largest;
    sum += std::exp(shifted);
    weighted += std::exp(shifted) * shifted;
  }
  const std::vector<std::uint32_t> tokens = {0, 511, 7, 7};
  const auto logprobs = get<Values>(GetLogprobs{queue, embed, tokens}).all;
  ASSERT_EQ(logprobs.size(), tokens.size());
  for (std::size_t each = 0; each < tokens.size(); ++each) {
    EXPECT_NEAR(logprobs[each], static_cast<double>(logits[tokens[each]]) - largest - std::log(sum),
                1e-4);
  }
  EXPECT_NEAR(get<Values>(GetEntropy{queue, embed}).all.at(0), std::log(sum) - weighted / sum,
              1e-4);
  EXPECT_EQ(get<Values>(GetEmbedding{queue, embed}).all.size(),
            harness.device.model().embedding_width);
  const auto next = get<NextDistribution>(GetNextDist{queue, embed, 4});
  EXPECT_NEAR(std::log(next.probabilities[0]),
              get<Values>(GetLogprobs{queue, embed, {next.tokens[0]}}).all.at(0), 1e-4);
}

TEST_F(Sampling, RefusesWhatTheApplicationShouldHaveChecked) {
  const auto refused = [&](CommandBody body) {
    const FutureId future = harness.send(id, std::move(body));
    harness.run();
    return harness.error(id, future);
  };
  EXPECT_EQ(refused(GetLogprobs{queue, embed, {512}}), ErrorCode::OutOfRange);
  // Nothing is in the embed.
  EXPECT_EQ(refused(DrawTokens{.queue = queue,
                               .embeds = {embed},
                               .draw = {.rule = std::make_shared<const DrawRule>()},
                               .randoms = {0.0}}),
            ErrorCode::InvalidArgument);
  EXPECT_EQ(refused(GetNextDists{queue, {}, nullptr, 8}), ErrorCode::InvalidArgument);
}

}  // namespace
}  // namespace quire::control
