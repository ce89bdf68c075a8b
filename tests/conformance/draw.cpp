// draw: tokens drawn by a rule, alone, in lists and while drafts are verified, and the loop in the
// host.
#include "steps.h"

namespace quire::conformance {
namespace {

constexpr std::uint32_t kGenerationCountMax = 64;
constexpr std::uint32_t kStopTokenCountMax = 1024;
constexpr std::uint32_t kRuleCountMax = 256;
constexpr std::uint32_t kDraftCountMax = 64;
using Randoms = std::vector<double>;

// One option of a rule that is an f64.
Bytes option(std::uint32_t key, double value) {
  Bytes out(16);
  const std::uint32_t head[2] = {key, 8};
  std::memcpy(out.data(), head, 8);
  std::memcpy(out.data() + 8, &value, 8);
  return out;
}

std::int32_t rule_of(Harness& t, double temperature) {
  return t.ok("draw.create-rule", t.model, option(1, temperature));
}

void rules(Harness& t) {
  const char* create = "draw.create-rule";
  t.drop(t.ok(create, t.model, Bytes{}));
  t.refused(create, ErrorCode::NotSupported, t.model, option(999, 1.0));
  t.refused(create, ErrorCode::InvalidArgument, t.model, option(1, -1.0));
  t.refused(create, ErrorCode::InvalidArgument, t.model, Bytes{1, 0, 0});
  t.refused(create, ErrorCode::NotFound, t.queue, Bytes{});
  Handles many;
  for (std::uint32_t i = 0; i < kRuleCountMax; ++i) many.push_back(rule_of(t, 0.5));
  t.refused(create, ErrorCode::QuotaExceeded, t.model, Bytes{});
  give_back(t, many);
}

void draws(Harness& t) {
  const char* draw = "draw.forward-draw";
  const std::int32_t rule = rule_of(t, 0.7);
  const std::int32_t context = computed_context(t, 5);
  const std::string drawn = t.result(draw, context, rule, Handles{}, Tokens{}, 0.5, 3, 1);
  t.check(number_at<std::uint32_t>(drawn, 0) == 0 && number_at<std::uint32_t>(drawn, 4) == 1 &&
              number_at<std::uint32_t>(drawn, 8) < kVocabulary &&
              number_at<std::uint32_t>(drawn, 20) == 3 && drawn.size() == 24 + 3 * 8,
          "a token with its three most probable ones");
  Tokens only(kVocabulary / 32, 0);
  only[1] = 8;
  const std::string masked = t.result(draw, context, rule, Handles{}, only, 0.999, 0, 0);
  t.check(number_at<std::uint32_t>(masked, 8) == 35, "the only one that may come");
  t.refused(draw, ErrorCode::InvalidArgument, context, rule, Handles{}, Tokens{1}, 0.5, 0, 0);
  t.refused(draw, ErrorCode::InvalidArgument, context, rule, Handles{}, Tokens(kVocabulary / 32, 0),
            0.5, 0, 0);
  t.refused(draw, ErrorCode::InvalidArgument, context, rule, Handles{}, Tokens{}, 1.0, 0, 0);
  t.refused(draw, ErrorCode::InvalidArgument, context, rule, Handles{}, Tokens{}, 0.5, 0, 8);
  t.refused(draw, ErrorCode::NotFound, context, rule, Handles{t.queue}, Tokens{}, 0.5, 0, 0);
  t.refused(draw, ErrorCode::NotFound, context, t.queue, Handles{}, Tokens{}, 0.5, 0, 0);
  const std::int32_t empty = abi::context::create(t.queue);
  t.refused(draw, ErrorCode::OutOfRange, empty, rule, Handles{}, Tokens{}, 0.5, 0, 0);

  const std::int32_t out = written_output(t);
  const char* list = "draw.draw-tokens";
  const std::string both =
      t.result(list, t.queue, Handles{out, out}, rule, Handles{}, Tokens{}, Randoms{0.2, 0.2}, 0);
  t.check(number_at<std::uint32_t>(both, 4) == 2 &&
              number_at<std::uint32_t>(both, 8) == number_at<std::uint32_t>(both, 24),
          "equal numbers draw equal tokens");
  t.refused(list, ErrorCode::InvalidArgument, t.queue, Handles{out}, rule, Handles{}, Tokens{},
            Randoms{}, 0);
  t.refused(list, ErrorCode::InvalidArgument, t.queue, Handles{t.embed}, rule, Handles{}, Tokens{},
            Randoms{0.5}, 0);
  t.refused(list, ErrorCode::NotFound, t.queue, Handles{t.queue}, rule, Handles{}, Tokens{},
            Randoms{0.5}, 0);
  give_back(t, {rule, context, out, empty});
}

void verifies(Harness& t) {
  const char* verify = "draw.verify";
  const std::int32_t rule = rule_of(t, 0.0);
  const std::int32_t plain = computed_context(t, 5);
  Tokens truth;
  for (int i = 0; i < 6; ++i) {
    const std::string drawn =
        t.result("draw.forward-draw", plain, rule, Handles{}, Tokens{}, 0.0, 0, 1);
    truth.push_back(number_at<std::uint32_t>(drawn, 8));
  }
  const std::int32_t context = computed_context(t, 5);
  Tokens drafts(truth.begin(), truth.begin() + 4);
  drafts[2] ^= 1;
  const std::string some =
      t.result(verify, context, rule, Handles{}, Tokens{}, drafts, Randoms(5, 0.0), 0, 1);
  t.check(number_at<std::uint32_t>(some, 4) == 3, "two drafts stand, and one token is no draft");
  t.check(number_at<std::uint32_t>(some, 8 + 2 * 16) == truth[2], "which is the one that is drawn");
  const std::string rest = t.result(verify, context, rule, Handles{}, Tokens{},
                                    Tokens{truth[3], truth[4]}, Randoms(3, 0.0), 0, 1);
  t.check(number_at<std::uint32_t>(rest, 4) == 3, "all drafts stand");
  t.refused(verify, ErrorCode::InvalidArgument, context, rule, Handles{}, Tokens{}, Tokens{1},
            Randoms{0.5}, 0, 1);
  t.refused(verify, ErrorCode::OutOfRange, context, rule, Handles{}, Tokens{}, Tokens{kVocabulary},
            Randoms{0.5, 0.5}, 0, 1);
  t.refused(verify, ErrorCode::TooLarge, context, rule, Handles{}, Tokens{},
            Tokens(kDraftCountMax + 1, 1), Randoms(kDraftCountMax + 2, 0.5), 0, 1);
  t.refused(verify, ErrorCode::NotFound, context, t.queue, Handles{}, Tokens{}, Tokens{},
            Randoms{0.5}, 0, 1);
  give_back(t, {rule, plain, context});
}

void generates(Harness& t) {
  const std::int32_t rule = rule_of(t, 0.0);
  const std::int32_t context = computed_context(t, 5);
  const char* generate = "draw.generate";
  const std::int32_t first = t.ok(generate, context, rule, Handles{}, 7, 4, Tokens{}, 2, 0);
  std::uint32_t count = 0;
  std::uint32_t how = 0;
  while (how == 0) {
    const std::string some = t.result("draw.next-draws", first, 0);
    if (some.size() < 8) break;
    how = number_at<std::uint32_t>(some, 0);
    count += number_at<std::uint32_t>(some, 4);
  }
  t.check(how == 2 && count == 4, "four tokens, then its length is reached");
  t.drop(first);
  t.refused(generate, ErrorCode::TooLarge, context, rule, Handles{}, 0, 1,
            Tokens(kStopTokenCountMax + 1, 1), 0, 0);
  t.refused(generate, ErrorCode::OutOfRange, context, rule, Handles{}, 0, 1, Tokens{kVocabulary}, 0,
            0);
  t.refused(generate, ErrorCode::NotFound, context, t.queue, Handles{}, 0, 1, Tokens{}, 0, 0);
  t.refused(generate, ErrorCode::InvalidArgument, context, rule, Handles{}, 0, 1, Tokens{}, 0, 8);

  const std::int32_t long_one = t.ok(generate, context, rule, Handles{}, 7, 1000, Tokens{}, 0, 0);
  t.refused(generate, ErrorCode::Unavailable, context, rule, Handles{}, 7, 1000, Tokens{}, 0, 0);
  t.refused("draw.forward-draw", ErrorCode::Unavailable, context, rule, Handles{}, Tokens{}, 0.0, 0,
            0);
  const std::int32_t waits = t.ok("draw.next-draws", long_one, 900);
  t.refused("draw.next-draws", ErrorCode::AlreadyExists, long_one, 1);
  t.mistakes("draw.next-draws", long_one, 1);
  t.mistakes("draw.stop-generation", long_one);
  t.result("draw.stop-generation", long_one);
  t.check(number_at<std::uint32_t>(t.take("draw.next-draws", waits), 0) == 3, "it was stopped");
  t.drop(long_one);
  t.refused("draw.next-draws", ErrorCode::NotFound, long_one, 0);
  t.refused("draw.stop-generation", ErrorCode::NotFound, long_one);
  t.drop(context);

  Handles contexts;
  Handles generations;
  for (std::uint32_t i = 0; i <= kGenerationCountMax; ++i)
    contexts.push_back(computed_context(t, 2));
  for (std::uint32_t i = 0; i < kGenerationCountMax; ++i) {
    generations.push_back(t.ok(generate, contexts[i], rule, Handles{}, 7, 8, Tokens{}, 0, 0));
  }
  t.refused(generate, ErrorCode::QuotaExceeded, contexts.back(), rule, Handles{}, 7, 8, Tokens{}, 0,
            0);
  give_back(t, generations);
  give_back(t, contexts);
  t.drop(rule);
}

void program(Harness& t) {
  rules(t);
  draws(t);
  verifies(t);
  generates(t);
}

}  // namespace
}  // namespace quire::conformance

CONFORMANCE(program)
