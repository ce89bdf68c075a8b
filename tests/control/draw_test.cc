// Drafts that are verified, masks of grammars, and forced tokens, on the simulated device.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <set>

#include "base/random.h"
#include "control/fake_grammar.h"
#include "control/harness.h"
#include "quire/draw_rule.h"

namespace quire::control {
namespace {

// Runs what it was given when the test says so: masks that come too late.
class LateExecutor final : public HelperExecutor {
 public:
  void run(std::function<void()> job) override { jobs_.push_back(std::move(job)); }
  bool run_one() {
    if (jobs_.empty()) return false;
    std::exchange(jobs_.front(), nullptr)();
    jobs_.pop_front();
    return true;
  }

 private:
  std::deque<std::function<void()>> jobs_;
};

struct Stream {
  ObjectId context{};
  std::vector<std::uint32_t> tokens{};  // Drawn.
  std::vector<float> probabilities{};
  std::vector<bool> forced{};
  DrawEnd end = DrawEnd::None;
  std::uint32_t random_count = 0;
  ContextCounters counters{};
};

class Drawing : public testing::Test {
 protected:
  explicit Drawing(HelperExecutor* matchers = nullptr) : harness(options(matchers)) {
    id = harness.start();
    queue = harness.queue(id);
  }
  static Harness::Options options(HelperExecutor* matchers) {
    Harness::Options options;
    options.controller.helpers.matchers = matchers;
    return options;
  }
  ObjectId context_of(const std::vector<std::uint32_t>& tokens) {
    const ObjectId made = harness.context(id, queue);
    harness.send(id, ContextAppend{made, tokens}, false);
    return made;
  }
  ObjectId matcher_of(const FakeGrammarOptions& grammar) {
    const ObjectId made = harness.new_object();
    harness.send(id, CreateMatcher{made, ModelIndex{}, std::make_shared<FakeGrammar>(grammar)},
                 false);
    return made;
  }
  virtual void run() { harness.run(); }
  Draws draw(ContextDraw command) {
    const FutureId future = harness.send(id, std::move(command));
    run();
    return harness.get<Draws>(id, future);
  }
  static std::shared_ptr<const DrawRule> rule_of(double temperature) {
    DrawRule rule;
    rule.temperature = temperature;
    return std::make_shared<const DrawRule>(rule);
  }
  static DrawSpec spec(double temperature, std::vector<ObjectId> matchers = {},
                       bool forces = true) {
    DrawSpec made{.rule = rule_of(temperature), .more = nullptr};
    if (matchers.empty()) return made;
    DrawExtras more;
    more.matchers = std::move(matchers);
    more.forces_tokens = forces;
    made.more = std::make_shared<const DrawExtras>(std::move(more));
    return made;
  }
  static void take(Stream& stream, const Draws& draws) {
    for (const Drawn& each : draws.all) {
      stream.tokens.push_back(each.token);
      stream.probabilities.push_back(each.probability);
      stream.forced.push_back(each.is_forced);
    }
    stream.random_count += draws.random_count;
    stream.end = draws.end;
    stream.counters = draws.counters;
  }
  // One draw after the other, as a program without drafts.
  Stream plain(const std::vector<std::uint32_t>& prompt, std::uint32_t count, const DrawSpec& how,
               const std::vector<double>& randoms) {
    Stream stream{.context = context_of(prompt)};
    while (stream.tokens.size() < count && stream.end == DrawEnd::None) {
      take(stream, draw({.context = stream.context,
                         .queues_token = true,
                         .draw = how,
                         .count_max = count - static_cast<std::uint32_t>(stream.tokens.size()),
                         .random = randoms.at(stream.random_count)}));
    }
    return stream;
  }
  // With drafts that agree with `truth` up to a place that chance chooses.
  Stream verified(const std::vector<std::uint32_t>& prompt, std::uint32_t count,
                  const DrawSpec& how, const std::vector<double>& randoms, const Stream& truth) {
    Stream stream{.context = context_of(prompt)};
    while (stream.tokens.size() < count && stream.end == DrawEnd::None) {
      const std::size_t at = stream.tokens.size();
      auto drafts = std::make_shared<Drafts>();
      const std::size_t length = random.next() % 12;
      const std::size_t wrong = random.next() % 14;
      for (std::size_t each = 0; each < length; ++each) {
        const std::uint32_t true_token =
            at + each < truth.tokens.size() ? truth.tokens[at + each] : 3;
        drafts->tokens.push_back(each == wrong ? (true_token + 1) % 512 : true_token);
        drafts->randoms.push_back(randoms.at(stream.random_count + each + 1));
      }
      take(stream, draw({.context = stream.context,
                         .queues_token = true,
                         .draw = how,
                         .count_max = count - static_cast<std::uint32_t>(at),
                         .random = randoms.at(stream.random_count),
                         .drafts = length > 0 ? drafts : nullptr}));
    }
    return stream;
  }
  std::vector<double> randoms(std::size_t count) {
    std::vector<double> all;
    while (all.size() < count) all.push_back(static_cast<double>(random.next() >> 11) * 0x1p-53);
    return all;
  }
  std::vector<float> logits_of(ObjectId context) {
    const ObjectId embed = harness.embeds(id, queue, 1).front();
    harness.send(id, ContextForward{context, {embed}}, false);
    const FutureId future = harness.send(id, GetLogits{queue, embed});
    run();
    std::vector<float> values = harness.get<Values>(id, future).all;
    harness.send(id, DeallocEmbeds{queue, {embed}}, false);
    return values;
  }
  void expect_same(const Stream& left, const Stream& right) {
    ASSERT_EQ(left.tokens, right.tokens);
    ASSERT_EQ(left.probabilities, right.probabilities);
    ASSERT_EQ(left.forced, right.forced);
    ASSERT_EQ(left.end, right.end);
    ASSERT_EQ(left.random_count, right.random_count);
    ASSERT_EQ(left.counters.seq_len, right.counters.seq_len);
    ASSERT_EQ(left.counters.queued_token_count, right.counters.queued_token_count);
    ASSERT_EQ(left.counters.committed_page_count, right.counters.committed_page_count);
    ASSERT_EQ(left.counters.working_page_count, right.counters.working_page_count);
    ASSERT_EQ(logits_of(left.context), logits_of(right.context));
  }
  void drop(const Stream& stream) { harness.send(id, ContextDrop{stream.context}, false); }
  // The bytes of plain drawing come from drafts too, over page borders, at any temperature.
  void check_equality(bool has_grammar, std::uint32_t rounds) {
    for (std::uint32_t round = 0; round < rounds; ++round) {
      const double temperature = std::array{0.0, 0.7, 1.5}[round % 3];
      const std::uint32_t count = 1 + static_cast<std::uint32_t>(random.next() % 60);
      const auto prompt = count_tokens(1 + random.next() % 40, round);
      const std::vector<double> numbers = randoms(90);
      const FakeGrammarOptions grammar{.seed = round + 1,
                                       .length = round % 4 == 0 ? count / 2 : 1000u,
                                       .has_forced = round % 2 == 0,
                                       .dead_end = round % 7 == 3 ? count / 3 : 1000u};
      const bool forces = round % 5 != 1;
      const auto how = [&] {
        return has_grammar ? spec(temperature, {matcher_of(grammar)}, forces) : spec(temperature);
      };
      const Stream truth = plain(prompt, count, how(), numbers);
      const Stream other = verified(prompt, count, how(), numbers, truth);
      expect_same(truth, other);
      if (HasFatalFailure()) FAIL() << "round " << round;
      drop(truth);
      drop(other);
    }
  }

  SeededRandom random{11};
  Harness harness;
  InstanceId id{};
  ObjectId queue{};
};

TEST_F(Drawing, DraftsGiveTheTokensOfPlainDrawing) {
  check_equality(false, 150);
}

TEST_F(Drawing, PenaltiesFromAPlaceOfTheContextCountTheTokensAfterItWithDraftsToo) {
  const std::vector<std::uint32_t> prompt(20, 7);
  const std::vector<double> numbers = randoms(90);
  DrawRule rule;
  rule.temperature = 0.5;
  rule.frequency_penalty = 20.0;
  rule.logit_bias = {{7, 100.0f}};
  const auto how = [&] {
    return DrawSpec{.rule = std::make_shared<const DrawRule>(rule), .more = nullptr};
  };
  EXPECT_NE(plain(prompt, 1, how(), numbers).tokens, (std::vector<std::uint32_t>{7}));
  rule.penalty_first = static_cast<std::uint32_t>(prompt.size());
  for (const std::uint32_t window : {DrawRule::kWholeHistory, 10u}) {
    rule.penalty_window = window;
    const Stream truth = plain(prompt, 40, how(), numbers);
    EXPECT_EQ(std::vector<std::uint32_t>(truth.tokens.begin(), truth.tokens.begin() + 3),
              std::vector<std::uint32_t>(3, 7));
    EXPECT_LT(std::count(truth.tokens.begin(), truth.tokens.begin() + 10, 7u), 8);
    expect_same(truth, verified(prompt, 40, how(), numbers, truth));
  }
}

TEST_F(Drawing, DraftsUnderAGrammarGiveTheTokensOfPlainDrawing) {
  check_equality(true, 150);
}

class LateDrawing : public Drawing {
 protected:
  LateDrawing() : Drawing(&executor_) {}
  // Masks come at any time, between batches or long after.
  void run() override {
    for (bool goes_on = true; goes_on;) {
      goes_on = false;
      if (random.next() % 3 == 0) goes_on |= executor_.run_one();
      goes_on |= harness.controller->poll();
      if (harness.controller->dispatch()) goes_on = true;
      while (random.next() % 2 == 0 && executor_.run_one()) goes_on = true;
      while (harness.complete_next()) goes_on = true;
      harness.verify();
      if (!goes_on) goes_on = executor_.run_one();
    }
  }
  LateExecutor executor_;
};

TEST_F(LateDrawing, MasksThatComeTooLateChangeNoToken) {
  check_equality(true, 150);
  EXPECT_GT(harness.controller->statistics().draws.late_mask_count, 100u);
}

TEST_F(Drawing, DraftsThatDoNotStandAreFoundByNobody) {
  const auto prompt = count_tokens(20);
  auto drafts = std::make_shared<Drafts>();
  drafts->tokens = count_tokens(30, 100);
  drafts->randoms.assign(30, 0.5);
  const Draws draws = draw({.context = context_of(prompt),
                            .queues_token = true,
                            .draw = spec(0.7),
                            .random = 0.5,
                            .drafts = drafts});
  ASSERT_LT(draws.all.size(), 5u);
  EXPECT_EQ(draws.counters.working_page_count, 1u);
  std::vector<std::uint32_t> same = prompt;
  same.insert(same.end(), drafts->tokens.begin(), drafts->tokens.end());
  const FutureId flushed = harness.send(id, ContextFlush{context_of(same)});
  run();
  EXPECT_EQ(harness.get<ContextState>(id, flushed).counters.found_token_count, 16u);
}

TEST_F(Drawing, ForksThatVerifyShareABatch) {
  const ObjectId trunk = context_of(count_tokens(40));
  harness.send(id, ContextFlush{trunk}, false);
  run();
  std::vector<FutureId> futures;
  for (std::uint32_t branch = 0; branch < 4; ++branch) {
    const ObjectId child = harness.new_object();
    harness.send(id, ContextFork{trunk, child}, false);
    auto drafts = std::make_shared<Drafts>();
    drafts->tokens = count_tokens(5, 50 * branch);
    drafts->randoms.assign(5, 0.5);
    futures.push_back(harness.send(
        id,
        ContextDraw{.context = child, .queues_token = true, .draw = spec(0.7), .drafts = drafts}));
  }
  const std::uint64_t before = harness.controller->statistics().batch_count;
  run();
  EXPECT_EQ(harness.controller->statistics().batch_count, before + 1);
  for (const FutureId each : futures) EXPECT_FALSE(harness.get<Draws>(id, each).all.empty());
}

TEST_F(Drawing, DraftsShareTheRowsOfABatchAndTheAnswerStatesHowManyWereComputed) {
  const auto counts_of = [&](std::uint32_t stream_count) {
    std::vector<ObjectId> streams;
    for (std::uint32_t each = 0; each < stream_count; ++each) {
      streams.push_back(context_of(count_tokens(20, 3 * each)));
      harness.send(id, ContextFlush{streams.back()}, false);
    }
    run();
    auto drafts = std::make_shared<Drafts>();
    drafts->tokens = count_tokens(64, 100);
    drafts->randoms.assign(64, 0.5);
    drafts->are_counted = true;
    std::vector<FutureId> futures;
    for (const ObjectId each : streams) {
      harness.send(id, ContextAppend{each, {7}}, false);
      futures.push_back(harness.send(
          id,
          ContextDraw{.context = each, .queues_token = true, .draw = spec(0.7), .drafts = drafts}));
    }
    run();
    std::set<std::uint32_t> counts;
    for (const FutureId each : futures) counts.insert(harness.get<Draws>(id, each).draft_count);
    return counts;
  };
  const std::uint64_t before = harness.controller->statistics().draws.draft_count;
  EXPECT_EQ(counts_of(1), std::set<std::uint32_t>{31});
  EXPECT_EQ(harness.controller->statistics().draws.draft_count, before + 31);
  EXPECT_EQ(counts_of(4), std::set<std::uint32_t>{7});
  EXPECT_EQ(counts_of(16), std::set<std::uint32_t>{1});
  EXPECT_EQ(counts_of(17), std::set<std::uint32_t>{0});
  EXPECT_EQ(harness.controller->statistics().draws.draft_count, before + 31 + 4 * 7 + 16);
}

TEST_F(Drawing, AMatcherAdvancesByTheTokensThatAreQueued) {
  const FakeGrammarOptions grammar{.seed = 4, .has_forced = false};
  const ObjectId matcher = matcher_of(grammar);
  const ObjectId context = context_of(count_tokens(10));
  const auto mask = [&](ObjectId of) {
    const FutureId future = harness.send(id, GetTokenMask{of});
    run();
    return harness.get<TokenMaskWords>(id, future).words;
  };
  const auto first = mask(matcher);
  draw({.context = context, .queues_token = false, .draw = spec(0.7, {matcher}), .random = 0.3});
  EXPECT_EQ(mask(matcher), first);
  const Draws queued =
      draw({.context = context, .queues_token = true, .draw = spec(0.7, {matcher}), .random = 0.3});
  FakeMatcher model(grammar);
  const inference::TokenId token{queued.all.front().token};
  ASSERT_TRUE(model.accept(std::span(&token, 1)).ok());
  std::vector<std::uint32_t> words(16);
  ASSERT_TRUE(model.fill_mask(words).ok());
  EXPECT_EQ(mask(matcher), words);
  // A fork stays where it was made.
  const ObjectId child = harness.new_object();
  harness.send(id, ForkMatcher{matcher, child}, false);
  draw({.context = context, .queues_token = true, .draw = spec(0.7, {matcher}), .random = 0.9});
  EXPECT_EQ(mask(child), words);
  harness.send(id, RollBackMatcher{matcher, 1}, false);
  EXPECT_EQ(mask(matcher), words);
}

TEST_F(Drawing, MatchersThatHoldTooMuchAreRefusedByName) {
  InstanceLimits limits;
  limits.held_matcher_bytes_max = 2500;
  id = harness.start(TenantId{1}, limits);
  queue = harness.queue(id);
  const ObjectId first = matcher_of({});
  const ObjectId second = harness.new_object();
  harness.send(id, ForkMatcher{first, second}, false);
  const ObjectId third = harness.new_object();
  harness.send(id, ForkMatcher{second, third}, false);
  const FutureId refused = harness.send(id, GetTokenMask{third});
  const FutureId granted = harness.send(id, GetTokenMask{second});
  run();
  EXPECT_EQ(harness.error(id, refused), ErrorCode::QuotaExceeded);
  EXPECT_EQ(harness.message(id, refused).substr(0, 23), "held_matcher_bytes_max:");
  EXPECT_EQ(harness.get<TokenMaskWords>(id, granted).words.size(), 16u);
  harness.send(id, DropMatcher{third}, false);
  const FutureId again = harness.send(id, GetTokenMask{first});
  run();
  EXPECT_FALSE(harness.error(id, again).has_value());
}

TEST_F(Drawing, SeveralMatchersAndAMaskAllowWhatAllOfThemDo) {
  const ObjectId one = matcher_of({.seed = 1, .has_forced = false});
  const ObjectId two = matcher_of({.seed = 2, .has_forced = false});
  auto words = std::make_shared<std::vector<std::uint32_t>>(16, 0x0f0f0f0fu);
  DrawExtras more;
  more.matchers = {one, two};
  more.mask = words;
  const DrawSpec how{.rule = rule_of(1.0),
                     .more = std::make_shared<const DrawExtras>(std::move(more))};
  FakeMatcher model_one({.seed = 1, .has_forced = false});
  FakeMatcher model_two({.seed = 2, .has_forced = false});
  const ObjectId context = context_of(count_tokens(3));
  for (std::uint32_t each = 0; each < 20; ++each) {
    const Draws draws =
        draw({.context = context, .queues_token = true, .draw = how, .random = randoms(1).front()});
    ASSERT_EQ(draws.all.size(), 1u);
    const std::uint32_t token = draws.all.front().token;
    EXPECT_EQ((*words)[token / 32] >> (token % 32) & 1, 1u);
    const inference::TokenId id_of{token};
    ASSERT_TRUE(model_one.accept(std::span(&id_of, 1)).ok());
    ASSERT_TRUE(model_two.accept(std::span(&id_of, 1)).ok());
  }
}

TEST_F(Drawing, APassThatFailsTakesItsDraftsBack) {
  // The context is as the plain one after that: nothing of the drafts is left.
  bool fails = false;
  Harness::Options wanted;
  wanted.device.fail_pass = [&](const inference::Batch&, std::size_t) -> std::optional<Error> {
    if (!fails) return std::nullopt;
    return Error(ErrorCode::Internal, "as the test wants");
  };
  Harness broken(wanted);
  const InstanceId guest = broken.start();
  const ObjectId in = broken.queue(guest);
  const ObjectId context = broken.context(guest, in);
  broken.send(guest, ContextAppend{context, count_tokens(20)}, false);
  auto drafts = std::make_shared<Drafts>();
  drafts->tokens = count_tokens(30, 100);
  drafts->randoms.assign(30, 0.5);
  const ContextDraw command{
      .context = context, .queues_token = true, .draw = spec(0.7), .random = 0.5, .drafts = drafts};
  fails = true;
  const FutureId failed = broken.send(guest, command);
  broken.run();
  EXPECT_TRUE(broken.error(guest, failed).has_value());
  fails = false;
  const FutureId again = broken.send(guest, command);
  broken.run();
  const Draws expected = draw({.context = context_of(count_tokens(20)),
                               .queues_token = true,
                               .draw = spec(0.7),
                               .random = 0.5,
                               .drafts = drafts});
  EXPECT_EQ(broken.get<Draws>(guest, again).all.front().token, expected.all.front().token);
}

TEST_F(LateDrawing, AnInstanceMayEndAtAnyTime) {
  for (std::uint32_t round = 0; round < 60; ++round) {
    id = harness.start();
    queue = harness.queue(id);
    const ObjectId matcher = matcher_of({.seed = round});
    auto drafts = std::make_shared<Drafts>();
    drafts->tokens = count_tokens(4, round);
    drafts->randoms.assign(4, 0.5);
    const ObjectId context = context_of(count_tokens(1 + round));
    for (int each = 0; each < 3; ++each) {
      harness.send(id, ContextDraw{.context = context,
                                   .queues_token = true,
                                   .draw = spec(0.7, {matcher}),
                                   .drafts = drafts});
    }
    for (std::uint32_t step = random.next() % 6; step > 0; --step) {
      if (random.next() % 2 == 0) executor_.run_one();
      harness.controller->poll();
      harness.controller->dispatch();
      if (random.next() % 2 == 0) harness.complete_next();
      harness.verify();
    }
    if (round % 3 == 0) harness.send(id, DropMatcher{matcher}, false);
    if (round % 2 == 0) harness.controller->end_instance(id);
    run();
  }
  EXPECT_TRUE(harness.controller->idle());
}

}  // namespace
}  // namespace quire::control
