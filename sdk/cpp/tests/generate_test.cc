#include "quire/generate.h"

#include <gtest/gtest.h>

#include <cmath>

#include "fake_host.h"
#include "held_tokens.h"
#include "quire/branch.h"
#include "quire/main.h"

namespace quire {
namespace {

using test::held;
using test::host;
using test::known;

// The model of these tests goes on with the alphabet, or less probably skips a letter; 'z' ends it.
class GenerateTest : public testing::Test {
 protected:
  void SetUp() override {
    host.reset();
    host.next = [](const std::vector<std::uint32_t>& seen) {
      const std::uint32_t next = seen.back() < 'a' || seen.back() > 'z' ? 'a' : seen.back() + 1;
      std::vector<std::pair<std::uint32_t, float>> out{
          {next, 0.5f}, {next + 1, 0.3f}, {next + 2, 0.2f}};
      std::uint32_t beyond = 0;
      for (auto& [token, probability] : out) {
        if (token > 'z') token = beyond++ == 0 ? 2 : 'A' + beyond;
      }
      return out;
    };
  }
  void TearDown() override { EXPECT_TRUE(host.live_handles().empty()) << "handles were leaked"; }

  static Task<Context> begun(std::string text) {
    Context context = co_await Context::create();
    co_await context.append_text(std::move(text));
    co_return context;
  }
  // The same with next(), token by token.
  static Task<Generation> stepwise(Context& context, GenerateOptions options) {
    Generator generator = context.generate(std::move(options));
    std::string text;
    while (const std::optional<Piece> piece = co_await generator.next()) text += piece->text;
    EXPECT_EQ(text, generator.answer().text);
    co_return generator.answer();
  }
};

void expect_same(const Generation& a, const Generation& b) {
  EXPECT_EQ(a.tokens, b.tokens);
  EXPECT_EQ(a.text, b.text);
  EXPECT_EQ(a.finish_reason, b.finish_reason);
  EXPECT_DOUBLE_EQ(a.log_probability, b.log_probability);
  EXPECT_EQ(a.drawn_count, b.drawn_count);
}

// Probabilities are made of logits, and so rounded.
void expect_close(const Generation& a, const Generation& b) {
  EXPECT_EQ(a.tokens, b.tokens);
  EXPECT_EQ(a.text, b.text);
  EXPECT_EQ(a.finish_reason, b.finish_reason);
  EXPECT_NEAR(a.log_probability, b.log_probability, 1e-4);
}

TEST_F(GenerateTest, TheHostsLoopTheProgramsOwnAndReshapingGiveTheSame) {
  const auto program = [](GenerateOptions options) -> Task<> {
    Context first = co_await begun("q");
    Context second = co_await begun("q");
    Context third = co_await begun("q");
    Context fourth = co_await begun("q");
    std::string shown;
    const Generation whole =
        co_await first.generate(options).stream([&](std::string_view text) { shown += text; });
    EXPECT_EQ(shown, whole.text);
    expect_same(whole, co_await stepwise(second, options));
    expect_same(whole, co_await std::move(fourth).generate(options));
    options.reshape = [](Distribution& next) {
      // The order of the distribution does not matter, nor the sum.
      std::reverse(next.tokens.begin(), next.tokens.end());
      std::reverse(next.probabilities.begin(), next.probabilities.end());
      for (float& each : next.probabilities) each *= 2;
    };
    expect_same(whole, co_await third.generate(options).collect());
    options.reshape = {};
    Context fifth = co_await begun("q");
    std::vector<std::uint32_t> told;
    options.on_token = [&](std::uint32_t token) { told.push_back(token); };
    expect_same(whole, co_await fifth.generate(options).collect());
    const std::vector<std::uint32_t> by_loop = std::exchange(told, {});
    Context sixth = co_await begun("q");
    options.logits = [](std::span<float> logits) {
      for (float& each : logits) each += 3.0f;  // The same distribution.
    };
    expect_close(whole, co_await sixth.generate(options).collect());
    EXPECT_EQ(told, by_loop);
    co_await first.flush();  // Takes back what was drawn after a stop text.
    co_await second.flush();
    EXPECT_EQ(known(first), known(second));
    EXPECT_EQ(held(first), held(second));
    EXPECT_EQ(held(first), known(first));
  };
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    host.run_ahead = seed % 4;
    GenerateOptions options{.temperature = seed % 3 * 0.7,
                            .seed = seed,
                            .max_tokens = static_cast<std::uint32_t>(seed % 12)};
    if (seed % 2 == 0) options.stop = {"wx", "y"};
    options.cut_stop_text = seed % 5 == 0;
    EXPECT_TRUE(run(program(options)).ok());
  }
}

// Guesses that are right for a while, then wrong, and sometimes none.
struct Guesser {
  std::uint64_t seed = 0;
  std::uint32_t pass_count = 0;

  std::vector<std::uint32_t> guess(const Context& context) {
    sampling::Random random(seed + ++pass_count);
    std::vector<std::uint32_t> drafts(static_cast<std::size_t>(random.uniform() * 8));
    std::uint32_t last = context.tokens().back();
    for (std::uint32_t& each : drafts) {
      each = ++last > 'z' || random.uniform() < 0.3 ? std::uint32_t{'?'} : last;
    }
    return drafts;
  }
};

TEST_F(GenerateTest, DraftsSavePassesAndNeverChangeWhatIsDrawn) {
  std::uint32_t pass_count = 0;
  std::uint32_t drawn_count = 0;
  const auto program = [&](GenerateOptions options, bool is_disturbed) -> Task<> {
    Context first = co_await begun("q");
    Context second = co_await begun("q");
    const Generation plain = co_await first.generate(options).collect();
    Guesser guesser{options.seed};
    options.draft = [&](const Context& context) -> Task<std::vector<std::uint32_t>> {
      EXPECT_EQ(held(context), known(context));
      co_return guesser.guess(context);
    };
    Generator generator = second.generate(options);
    while (co_await generator.next()) {
      // A fork takes back what the host has and the program was not given yet.
      if (is_disturbed) co_await second.fork();
    }
    expect_same(plain, generator.answer());
    // A full context holds a last token that it has no room to compute.
    const Result<ContextCounters> flushed = co_await attempt(first.flush());
    EXPECT_EQ(flushed.ok(), (co_await attempt(second.flush())).ok());
    EXPECT_EQ(held(first), held(second));
    EXPECT_EQ(held(second), known(second));
    if (is_disturbed) co_return;
    pass_count += guesser.pass_count;
    drawn_count += plain.drawn_count;
  };
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    host.context_length = seed % 7 == 0 ? 9 : 2048;
    GenerateOptions options{.temperature = seed % 3 * 0.7,
                            .seed = seed,
                            .max_tokens = static_cast<std::uint32_t>(seed % 12)};
    if (seed % 2 == 0) options.stop = {"wx", "y"};
    options.cut_stop_text = seed % 5 == 0;
    const Result<void> done = run(program(options, seed % 4 == 3));
    EXPECT_TRUE(done.ok()) << done.error().text();
  }
  EXPECT_LT(pass_count, drawn_count * 3 / 4);
}

TEST_F(GenerateTest, DraftsUnderAGrammarAndForcedTokensGiveItsText) {
  host.next = [](const std::vector<std::uint32_t>&) {
    return std::vector<std::pair<std::uint32_t, float>>{{'r', 0.5f}, {'s', 0.3f}, {'t', 0.2f}};
  };
  // Three letters, of which the second is always 'r'.
  host.allowed = [](const std::string&, const std::vector<std::uint32_t>& accepted) {
    if (accepted.size() == 1) return std::vector<std::uint32_t>{'r'};
    if (accepted.size() == 3) return std::vector<std::uint32_t>{};
    return std::vector<std::uint32_t>{'r', 's', 't'};
  };
  const auto program = [](GenerateOptions options) -> Task<> {
    Context first = co_await begun("q");
    Context second = co_await begun("q");
    options.grammar = co_await Grammar::lark(first.model(), "start: any");
    const Generation plain = co_await first.generate(options).collect();
    options.draft = [](const Context& context) -> Task<std::vector<std::uint32_t>> {
      const std::uint32_t last = context.tokens().back();
      const std::uint32_t guess = last == 'q' ? 's' : 't';
      co_return std::vector<std::uint32_t>{guess, 'r', 's'};
    };
    expect_same(plain, co_await second.generate(options).collect());
    EXPECT_EQ(plain.finish_reason, FinishReason::Grammar);
    EXPECT_EQ(held(first), held(second));
  };
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    const Result<void> done = run(program({.temperature = seed % 3 * 0.7, .seed = seed}));
    EXPECT_TRUE(done.ok()) << done.error().text();
  }
}

TEST_F(GenerateTest, AGrammarSaysWhetherATextFitsAndErrorsLeaveItAsItWas) {
  host.allowed = [](const std::string&, const std::vector<std::uint32_t>&) {
    return std::vector<std::uint32_t>{};
  };
  const auto program = []() -> Task<> {
    const Context context = co_await begun("q");
    const Grammar grammar = co_await Grammar::regex(context.model(), "rst");
    EXPECT_TRUE(co_await grammar.fits("rst"));
    const Result<bool> asked = co_await attempt(grammar.fits(std::string(101, 'r')));
    EXPECT_EQ(asked.error().code, ErrorCode::TooLarge);
    EXPECT_FALSE(co_await grammar.fits(""));
    Task<bool> held = Grammar(grammar).fits("rs");
    EXPECT_FALSE(co_await std::move(held));
    EXPECT_EQ((co_await attempt(Grammar().fits("rst"))).error().code, ErrorCode::NotFound);
  };
  const Result<void> done = run(program());
  EXPECT_TRUE(done.ok()) << done.error().text();
}

TEST_F(GenerateTest, AProgramEndsAGenerationWhereItLikes) {
  const auto program = [](GenerateOptions options, bool has_drafts) -> Task<> {
    Context context = co_await begun("q");
    if (has_drafts) {
      options.draft = [](const Context&) -> Task<std::vector<std::uint32_t>> {
        co_return std::vector<std::uint32_t>{'r', 's', 't'};
      };
    }
    Generator generator = context.generate(options);
    co_await generator.next();
    co_await generator.next();
    co_await generator.end();
    EXPECT_FALSE((co_await generator.next()).has_value());
    EXPECT_EQ(generator.answer().text, "rs");
    EXPECT_EQ(generator.answer().finish_reason, FinishReason::Stopped);
    co_await context.flush();
    EXPECT_EQ(known(context), "qrs");
    EXPECT_EQ(held(context), "qrs");
  };
  EXPECT_TRUE(run(program({}, false)).ok());
  EXPECT_TRUE(run(program({}, true)).ok());
}

TEST_F(GenerateTest, AFullHostAnswersWithTheProgramsOwnLoop) {
  host.loop_count_max = 2;
  const auto program = []() -> Task<> {
    Context question = co_await begun("m");
    const std::vector<Branch> branches =
        co_await question.sample(5, {.temperature = 0.9, .max_tokens = 6});
    EXPECT_EQ(branches.size(), 5u);
    for (std::size_t i = 0; i < branches.size(); ++i) {
      Context alone = co_await begun("m");
      expect_same(branches[i].answer,
                  co_await alone.generate({.temperature = 0.9, .seed = i, .max_tokens = 6}));
    }
    EXPECT_EQ(known(question), "m");
  };
  EXPECT_TRUE(run(program()).ok());
}

TEST_F(GenerateTest, LogProbabilitiesAreNatsOfAllThatWasDrawn) {
  const auto program = []() -> Task<> {
    Context context = co_await begun("w");
    const Generation answer = co_await context.generate();
    EXPECT_EQ(answer.text, "xyz");
    EXPECT_EQ(answer.drawn_count, 4u);
    EXPECT_NEAR(answer.log_probability, 4 * std::log(0.5), 1e-12);
    EXPECT_NEAR(answer.mean_log_probability(), std::log(0.5), 1e-12);
    Context again = co_await begun("w");
    Generator generator = again.generate();
    const std::optional<Piece> piece = co_await generator.next();
    EXPECT_NEAR(piece->log_probability(), std::log(0.5), 1e-12);
    EXPECT_EQ(Generation().mean_log_probability(), 0.0);
    const Distribution next = co_await context.next_distribution();
    EXPECT_NEAR(next.log_probability(1), std::log(0.3), 1e-7);
    EXPECT_GT(log_probability(0.0f), -70.0);
  };
  EXPECT_TRUE(run(program()).ok());
}

TEST_F(GenerateTest, ReshapeSeesTheDistributionAndDecides) {
  const auto program = []() -> Task<> {
    Context context = co_await begun("a");
    std::size_t seen = 0;
    const Generation answer = co_await context.generate(
        {.max_tokens = 4, .reshape = [&](Distribution& next) {
           seen = next.size();
           next.keep_if([](std::uint32_t token, float) { return token % 2 == 0; });
         }});
    EXPECT_EQ(answer.text, "bdfh");
    EXPECT_EQ(seen, 3u);
    EXPECT_NEAR(answer.log_probability, std::log(0.5) + 3 * std::log(0.3), 1e-6);
    const Result<Generation> none =
        co_await attempt(context
                             .generate({.reshape =
                                            [](Distribution& next) {
                                              for (float& each : next.probabilities) each = 0.0f;
                                            }})
                             .collect());
    EXPECT_EQ(none.error().text(),
              "invalid-argument: reshape left no token with a probability above 0");
  };
  EXPECT_TRUE(run(program()).ok());
}

// A context goes away from what a second one says, which follows it.
TEST_F(GenerateTest, AHookOfLogitsMayWaitForAnotherContext) {
  const auto program = []() -> Task<> {
    Context context = co_await begun("a");
    Context other = co_await begun("q");
    GenerateOptions options{.max_tokens = 4, .top_logprobs = 2};
    options.logits = [&](std::span<float> logits) -> Task<> {
      const std::vector<float> without = co_await other.next_logits();
      logits[std::ranges::max_element(without) - without.begin()] = -200.0f;
    };
    options.on_token = [&](std::uint32_t token) { return other.append(token); };
    Generator generator = context.generate(options);
    std::string text;
    while (const std::optional<Piece> piece = co_await generator.next()) {
      text += piece->text;
      EXPECT_EQ(piece->top.size(), 2u);
      EXPECT_NEAR(piece->top[0].probability, 0.5, 1e-5) << "what the model says is reported";
    }
    EXPECT_EQ(text, "bdfh");
    EXPECT_EQ(known(other), "q" + text);
  };
  const Result<void> done = run(program());
  EXPECT_TRUE(done.ok()) << done.error().text();
}

TEST_F(GenerateTest, AnErrorOfAHookEndsTheGenerationWithIt) {
  const auto program = []() -> Task<> {
    Context context = co_await begun("a");
    const auto error_of = [&](GenerateOptions options) -> Task<std::string> {
      const Result<Generation> done = co_await attempt(context.generate(options).collect());
      co_return done.ok() ? "" : done.error().text();
    };
    const Error error{ErrorCode::Io, "no"};
    EXPECT_EQ(
        co_await error_of({.logits = [&](std::span<float>) -> Task<> { co_await fail(error); }}),
        "io: no");
    EXPECT_EQ(co_await error_of({.on_token = [&](std::uint32_t) -> Result<void> { return error; }}),
              "io: no");
    EXPECT_EQ(co_await error_of({.logits =
                                     [](std::span<float> logits) {
                                       for (float& each : logits) each = NAN;
                                     }}),
              "invalid-argument: none of 256 logits is a finite number");
  };
  const Result<void> done = run(program());
  EXPECT_TRUE(done.ok()) << done.error().text();
}

TEST_F(GenerateTest, OptionsThatExcludeEachOtherAreNamed) {
  host.allowed = [](const std::string&, const std::vector<std::uint32_t>&) {
    return std::vector<std::uint32_t>{'b'};
  };
  const auto program = []() -> Task<> {
    Context context = co_await begun("a");
    const auto error_of = [&](GenerateOptions options) -> Task<std::string> {
      co_return (co_await attempt(context.generate(options).collect())).error().text();
    };
    const auto reshape = [](Distribution&) {};
    const auto logits = [](std::span<float>) {};
    const auto draft = [](const Context&) -> Task<std::vector<std::uint32_t>> {
      co_return std::vector<std::uint32_t>{};
    };
    EXPECT_EQ(co_await error_of({.reshape = reshape, .logits = logits}),
              "invalid-argument: reshape works on probabilities, and logits on what they are made "
              "of: use one or the other");
    EXPECT_EQ(
        co_await error_of({.logits = logits, .draft = draft}),
        "invalid-argument: logits changes each draw, and draft needs several in one pass: use "
        "one or the other");
    EXPECT_EQ(
        co_await error_of({.grammar = co_await Grammar::regex(context.model(), "b"), .heal = true}),
        "invalid-argument: heal changes the last token of the prompt, which no grammar knows: "
        "use one or the other");
    EXPECT_EQ(known(context), "a");
  };
  const Result<void> done = run(program());
  EXPECT_TRUE(done.ok()) << done.error().text();
}

TEST_F(GenerateTest, AGrammarThatAllowsNoTokenIsNoFullContext) {
  host.allowed = [](const std::string&, const std::vector<std::uint32_t>& accepted) {
    return accepted.empty() ? std::vector<std::uint32_t>{'b'} : std::vector<std::uint32_t>{'!'};
  };
  const auto program = [](GenerateOptions options) -> Task<> {
    Context context = co_await begun("a");
    options.grammar = co_await Grammar::regex(context.model(), "b!");
    Generator generator = context.generate(options);
    EXPECT_EQ((co_await generator.next())->text, "b");
    const Result<std::optional<Piece>> stuck = co_await attempt(generator.next());
    EXPECT_EQ(stuck.ok() ? "" : stuck.error().text(),
              "out-of-range: no token can go on with this text under the grammar");
  };
  const Result<void> done = run(program({}));
  EXPECT_TRUE(done.ok()) << done.error().text();
}

// Tokens of several bytes: "http" ":" goes on with "://" where the colon is healed.
TEST_F(GenerateTest, HealingLetsTheFirstTokenBeginWithTheLastBytesOfThePrompt) {
  host.token_texts = {{200, "://"}, {201, ":!"}};
  host.next = [](const std::vector<std::uint32_t>& seen) {
    using Pairs = std::vector<std::pair<std::uint32_t, float>>;
    if (seen.back() == 'p') return Pairs{{'s', 0.6f}, {200, 0.3f}, {':', 0.1f}};
    return Pairs{{'w', 0.7f}, {'x', 0.3f}};
  };
  const auto program = [](GenerateOptions options, std::string prompt, std::string text) -> Task<> {
    options.max_tokens = 3;
    Context context = co_await begun(prompt);
    Context stepped = co_await context.fork();
    const Generation answer = co_await context.generate(options).collect();
    EXPECT_EQ(answer.text, text) << prompt;
    expect_close(answer, co_await stepwise(stepped, options));
    const std::vector<std::uint32_t> held = context.tokens();
    EXPECT_TRUE(std::equal(answer.tokens.rbegin(), answer.tokens.rend(), held.rbegin()));
  };
  const std::vector<GenerateOptions> ways = {
      {.heal = true},
      {.temperature = 0.8, .logits = [](std::span<float>) {}, .heal = true},
      {.reshape = [](Distribution&) {}, .heal = true},
      {.draft = [](const Context&) -> Task<std::vector<std::uint32_t>> {
         std::vector<std::uint32_t> drafts(2, 'w');
         co_return drafts;
       },
       .heal = true}};
  for (const GenerateOptions& each : ways) {
    if (each.temperature == 0) EXPECT_TRUE(run(program(each, "http:", "//ww")).ok());
    EXPECT_TRUE(run(program(each, "p:", each.temperature == 0 ? "//ww" : "//xw")).ok());
  }
  EXPECT_TRUE(run(program({.heal = true}, "http", "sww")).ok()) << "no other token begins with p";
  EXPECT_TRUE(run(program({.heal = true}, "p", "sww")).ok()) << "nothing is left to go on with";
  EXPECT_TRUE(run(program({.heal = true}, "p\x02", "www")).ok()) << "a special token";
}

TEST_F(GenerateTest, AStopTextWithinAHealedTokenLeavesThePromptAsItWas) {
  host.token_texts = {{200, "://x"}};
  host.next = [](const std::vector<std::uint32_t>&) {
    return std::vector<std::pair<std::uint32_t, float>>{{200, 0.6f}, {':', 0.4f}};
  };
  const auto program = []() -> Task<> {
    Context context = co_await begun("http:");
    const Generation answer =
        co_await context.generate({.stop = {"/x"}, .cut_stop_text = true, .heal = true});
    EXPECT_EQ(answer.text, "/");
    EXPECT_EQ(held(context), "http:/");
  };
  const Result<void> done = run(program());
  EXPECT_TRUE(done.ok()) << done.error().text();
}

TEST_F(GenerateTest, ADrawerDrawsFromLogitsThatTheProgramMade) {
  const auto program = []() -> Task<> {
    Context context = co_await begun("ab");
    Drawer drawer(DrawRule{.frequency_penalty = 1.0});
    drawer.report_top(2);
    std::vector<float> logits(256, -50.0f);
    logits['a'] = 1.5f;
    logits['b'] = 1.0f;
    logits['c'] = 0.9f;
    const DrawnToken drawn = co_await drawer.draw(logits, context.tokens());
    EXPECT_EQ(drawn.token, std::uint32_t{'c'}) << "the others occurred";
    const double sum = std::exp(1.5) + std::exp(1.0) + std::exp(0.9);
    EXPECT_NEAR(drawn.probability, std::exp(0.9) / sum, 1e-6);
    EXPECT_EQ(drawn.top.at(0).token, std::uint32_t{'a'});
    EXPECT_NEAR(drawn.top.at(0).probability, std::exp(1.5) / sum, 1e-6);
    std::vector<std::uint32_t> mask(8);
    mask['d' / 32] = 1u << ('d' % 32);
    drawer.allow(mask);
    EXPECT_EQ((co_await drawer.draw(logits)).token, std::uint32_t{'d'});
    drawer.allow(std::vector<std::uint32_t>(8));
    EXPECT_EQ((co_await attempt(drawer.draw(logits))).error().text(),
              "out-of-range: no token may follow");
    EXPECT_EQ((co_await attempt(Drawer(DrawRule{.top_p = 7}).draw(logits))).error().text(),
              "invalid-argument: top_p must be from 0 to 1, not 7");
  };
  const Result<void> done = run(program());
  EXPECT_TRUE(done.ok()) << done.error().text();
}

TEST_F(GenerateTest, CuttingTheStopTextEndsTheContextWithWhatIsShown) {
  // One token ends the word, begins the stop text and goes on after it.
  host.token_texts = {{200, "lo\nUs"}};
  host.next = [](const std::vector<std::uint32_t>& seen) {
    const std::string script = "hel\310er:ab";
    const std::size_t at = seen.size() - 1;
    const std::uint32_t token = at < script.size() ? static_cast<std::uint8_t>(script[at]) : 2;
    return std::vector<std::pair<std::uint32_t, float>>{{token, 1.0f}};
  };
  for (const bool by_step : {false, true}) {
    const auto program = [&]() -> Task<> {
      Context context = co_await begun(">");
      GenerateOptions options{.stop = {"\nUser:"}, .cut_stop_text = true};
      const Generation answer = by_step ? co_await stepwise(context, options)
                                        : co_await context.generate(options).collect();
      EXPECT_EQ(answer.text, "hello");
      EXPECT_EQ(answer.finish_reason, FinishReason::StopText);
      EXPECT_EQ(answer.tokens, (std::vector<std::uint32_t>{'h', 'e', 'l', 'l', 'o'}));
      co_await context.append_text("!");
      co_await context.flush();
      EXPECT_EQ(held(context), ">hello!");
      EXPECT_EQ(known(context), ">hello!");
    };
    EXPECT_TRUE(run(program()).ok());
  }
}

TEST_F(GenerateTest, AContextWhoseGenerationWasDroppedGoesOnWithWhatIsKnown) {
  host.run_ahead = 3;
  const auto program = []() -> Task<> {
    Context context = co_await begun("a");
    std::string shown;
    const auto fails = [&](std::string_view text) -> Result<void> {
      shown += text;
      if (shown == "bcd") return Error{ErrorCode::Io, "enough"};
      return {};
    };
    const Result<Generation> cut = co_await attempt(context.generate().stream(fails));
    EXPECT_EQ(cut.error().message, "enough");
    EXPECT_EQ(known(context), "abcd");
    EXPECT_GT(held(context).size(), 4u);  // The host went on.
    co_await context.append_text("!");
    Context fork = co_await context.fork();
    EXPECT_EQ(known(fork), "abcd!");
    EXPECT_EQ(held(fork), "abcd!");
    EXPECT_EQ((co_await context.flush()).seq_len, 5u);
    EXPECT_EQ(held(context), "abcd!");
  };
  EXPECT_TRUE(run(program()).ok());
}

TEST_F(GenerateTest, AForkTakenWhileTheHostsLoopRunsHoldsWhatIsKnown) {
  host.run_ahead = 3;
  const auto program = []() -> Task<> {
    Context context = co_await begun("a");
    std::vector<Context> forks;
    const auto keep = [&](std::string_view) -> Task<> {
      if (forks.empty()) forks.push_back(co_await context.fork());
    };
    co_await context.generate({.max_tokens = 6}).stream(keep);
    EXPECT_EQ(known(context), "abcdefg");
    co_await forks[0].flush();
    EXPECT_EQ(held(forks[0]), "ab");
    EXPECT_EQ(held(context), "abcdefg");
  };
  EXPECT_TRUE(run(program()).ok());
}

TEST_F(GenerateTest, AGeneratorThatOwnsItsContextOutlivesTheScopeThatMadeIt) {
  const auto program = []() -> Task<> {
    Context context = co_await begun("a");
    std::vector<Task<Generation>> tasks;
    for (int i = 0; i < 3; ++i) {
      Context fork = co_await context.fork();
      tasks.push_back(std::move(fork).generate({.max_tokens = 4}).collect());
    }
    for (const Generation& each : co_await gather(std::move(tasks))) EXPECT_EQ(each.text, "bcde");
    EXPECT_EQ(host.contexts.size(), 1u) << "the forks ended with their generators";
    EXPECT_EQ((co_await (co_await begun("x")).generate({.max_tokens = 2})).text, "yz");
    Generator generator = (co_await begun("m")).generate({.max_tokens = 2});
    EXPECT_EQ((co_await generator.next())->text, "n");
  };
  EXPECT_TRUE(run(program()).ok());
}

TEST_F(GenerateTest, AGeneratorFollowsItsContextToWhereItIsMoved) {
  const auto program = []() -> Task<> {
    Context context = co_await begun("a");
    Generator generator = context.generate({.max_tokens = 4});
    EXPECT_EQ((co_await generator.next())->text, "b");
    std::vector<Context> moved;
    moved.push_back(std::move(context));
    EXPECT_EQ((co_await generator.next())->text, "c");
    moved.reserve(100);  // Moves it once more.
    Generator other = std::move(generator);
    EXPECT_EQ((co_await other.next())->text, "d");
    EXPECT_EQ(known(moved[0]), "abcd");
  };
  EXPECT_TRUE(run(program()).ok());
}

TEST_F(GenerateTest, AGeneratorSaysThatItsContextIsGone) {
  const char* kGone =
      "invalid-argument: the context of a generator is gone: it must live as long as the generator "
      "and its task, or belong to it, as in std::move(context).generate(options)";
  const auto program = [kGone]() -> Task<> {
    std::vector<Task<Generation>> tasks;
    std::optional<Generator> stepping;
    {
      Context fork = co_await begun("a");
      tasks.push_back(fork.generate({.max_tokens = 4}).collect());
      tasks.push_back(fork.generate({.max_tokens = 4}).stream([](std::string_view) {}));
      stepping.emplace(fork.generate({.max_tokens = 4}));
      co_await stepping->next();
    }
    for (Task<Generation>& each : tasks) {
      EXPECT_EQ((co_await attempt(std::move(each))).error().text(), kGone);
    }
    EXPECT_EQ((co_await attempt(stepping->end())).error().text(), kGone);
    EXPECT_EQ((co_await attempt(stepping->next())).error().text(), kGone);
    Context context = co_await begun("a");
    Task<Generation> task = context.generate().collect();
    context = co_await begun("b");
    EXPECT_EQ((co_await attempt(std::move(task))).error().text(), kGone) << "it was replaced";
  };
  EXPECT_TRUE(run(program()).ok());
}

// As where both are locals and the task was declared first.
TEST_F(GenerateTest, ATaskThatIsDroppedAfterItsContextTouchesNothing) {
  const auto program = []() -> Task<> {
    std::optional<Context> context(co_await begun("a"));
    Task<Generation> task;
    const auto wait = [](std::string_view) { return yield(); };
    task = co_await spawn(context->generate({.max_tokens = 20}).stream(wait));
    co_await yield();
    co_await yield();
    context.reset();
    task.drop();
  };
  EXPECT_TRUE(run(program()).ok());
}

TEST_F(GenerateTest, NumbersOutOfTheirRangeAreNamed) {
  const auto program = []() -> Task<> {
    Context context = co_await begun("a");
    const Result<Generation> wrong =
        co_await attempt(context.generate({.temperature = -1}).collect());
    EXPECT_EQ(wrong.error().text(),
              "invalid-argument: temperature must be from 0 to 1000000, not -1");
    Generator generator = context.generate({.top_p = 2});
    const Result<std::optional<Piece>> too = co_await attempt(generator.next());
    EXPECT_EQ(too.error().text(), "invalid-argument: top_p must be from 0 to 1, not 2");
    EXPECT_EQ(known(context), "a");
  };
  EXPECT_TRUE(run(program()).ok());
}

}  // namespace
}  // namespace quire
