// constraint: grammars, and matchers in them, by hand and in draws.
#include "steps.h"

namespace quire::conformance {
namespace {

constexpr std::uint32_t kMatcherCountMax = 256;

std::int32_t compiled(Harness& t, std::uint32_t kind, const char* source) {
  return number_at<std::int32_t>(t.result("constraint.compile-grammar", t.model, kind, source), 0);
}

std::uint32_t token_of(Harness& t, const char* text) {
  return number_at<std::uint32_t>(t.result("tokenize.tokenize", t.model, text, 0), 0);
}

bool allows(const std::string& mask, std::uint32_t token) {
  return (number_at<std::uint32_t>(mask, token / 32 * 4) >> (token % 32) & 1) != 0;
}

void sources(Harness& t) {
  const char* compile = "constraint.compile-grammar";
  t.drop(compiled(t, 0, R"({"type": "integer"})"));
  t.drop(compiled(t, 2, "start: \"a\" | \"b\""));
  t.refused(compile, ErrorCode::InvalidArgument, t.model, 1, "[0-9");
  t.refused(compile, ErrorCode::InvalidArgument, t.model, 0, "{");
  t.refused(compile, ErrorCode::InvalidArgument, t.model, 2, "start: (");
  t.refused(compile, ErrorCode::InvalidArgument, t.model, 3, "a");
  t.refused(compile, ErrorCode::NotFound, t.queue, 1, "a");
  t.refused(compile, ErrorCode::TooLarge, t.model, 1, std::string((256u << 10) + 1, 'a'));
}

bool fits(Harness& t, std::int32_t grammar, const std::string& text) {
  return number_at<std::uint32_t>(t.result("constraint.fits", grammar, text), 0) == 1;
}

void texts(Harness& t) {
  const std::int32_t schema = compiled(
      t, 0,
      R"({"anyOf": [{"type": "null"}, {"properties": {"a": {"type": "integer"}, "b": true}, "required": ["a", "b"]}]})");
  t.check(fits(t, schema, R"({"a":1,"b":2})"), "as the grammar writes it");
  t.check(fits(t, schema, "{ \"b\": [], \"a\": 1.0 }"),
          "in another order, with blanks and a point");
  t.check(!fits(t, schema, R"({"a":1})") && !fits(t, schema, "{") && !fits(t, schema, "\xff"),
          "neither is what lacks a member, nor what is not JSON");
  const std::int32_t words = compiled(t, 1, "(one|two)");
  t.check(fits(t, words, "two") && !fits(t, words, "tw") && !fits(t, words, "twoo"), "whole texts");
  const char* call = "constraint.fits";
  t.refused(call, ErrorCode::TooLarge, words, std::string((1u << 20) + 1, 'a'));
  t.refused(call, ErrorCode::TooLarge, schema, std::string(129, '[') + std::string(129, ']'));
  const std::int32_t matcher = t.ok("constraint.create-matcher", words);
  for (const std::int32_t wrong : {0, t.queue, matcher}) {
    t.refused(call, ErrorCode::NotFound, wrong, "one");
  }
  give_back(t, {matcher, words, schema});
}

void matchers(Harness& t) {
  const std::int32_t grammar = compiled(t, 1, "(one|two)");
  const std::int32_t matcher = t.ok("constraint.create-matcher", grammar);
  const std::string mask = t.result("constraint.token-mask", matcher);
  const std::uint32_t o = token_of(t, "o");
  const std::uint32_t x = token_of(t, "x");
  t.check(mask.size() == kVocabulary / 8 && allows(mask, o) && !allows(mask, x),
          "what may begin it");
  t.refused("constraint.accept-tokens", ErrorCode::InvalidArgument, matcher, Tokens{x});
  t.result("constraint.accept-tokens", matcher, Tokens{o});
  const std::int32_t second = t.ok("constraint.fork-matcher", matcher);
  const std::string forced = t.result("constraint.forced-tokens", second, 64);
  t.check(!forced.empty(), "the rest of it is forced");
  t.result("constraint.roll-back", matcher, 1);
  t.check(t.result("constraint.token-mask", matcher) == mask, "as it was");
  t.check(t.result("constraint.token-mask", second) != mask, "and its fork stays");
  t.refused("constraint.roll-back", ErrorCode::OutOfRange, matcher, 1);
  for (const std::int32_t wrong : {0, t.queue, grammar}) {
    t.refused("constraint.fork-matcher", ErrorCode::NotFound, wrong);
    t.refused("constraint.token-mask", ErrorCode::NotFound, wrong);
    t.refused("constraint.accept-tokens", ErrorCode::NotFound, wrong, Tokens{1});
    t.refused("constraint.roll-back", ErrorCode::NotFound, wrong, 1);
    t.refused("constraint.forced-tokens", ErrorCode::NotFound, wrong, 1);
  }
  t.refused("constraint.create-matcher", ErrorCode::NotFound, matcher);
  Handles many;
  for (std::uint32_t i = 2; i < kMatcherCountMax; ++i) {
    many.push_back(t.ok("constraint.create-matcher", grammar));
  }
  t.refused("constraint.create-matcher", ErrorCode::QuotaExceeded, grammar);
  t.refused("constraint.fork-matcher", ErrorCode::QuotaExceeded, matcher);
  give_back(t, many);

  // A draw advances the matcher, and ends where nothing may follow.
  const std::int32_t rule = t.ok("draw.create-rule", t.model, Bytes{});
  const std::int32_t context = computed_context(t, 5);
  const std::int32_t drawing =
      t.ok("draw.forward-draw", context, rule, Handles{matcher}, Tokens{}, 0.0, 0, 1);
  t.refused("constraint.token-mask", ErrorCode::Unavailable, matcher);
  t.refused("constraint.accept-tokens", ErrorCode::Unavailable, matcher, Tokens{o});
  t.refused("constraint.roll-back", ErrorCode::Unavailable, matcher, 1);
  t.refused("constraint.forced-tokens", ErrorCode::Unavailable, matcher, 1);
  t.refused("constraint.fork-matcher", ErrorCode::Unavailable, matcher);
  t.take("draw.forward-draw", drawing);
  std::uint32_t end = 0;
  for (int i = 0; i < 8 && end == 0; ++i) {
    end = number_at<std::uint32_t>(
        t.result("draw.forward-draw", context, rule, Handles{matcher}, Tokens{}, 0.0, 0, 1), 0);
  }
  t.check(end == 4, "the grammar is complete");
  t.refused("draw.forward-draw", ErrorCode::InvalidArgument, context, rule,
            Handles{matcher, matcher}, Tokens{}, 0.0, 0, 1);
  give_back(t, {rule, context, matcher, second, grammar});
}

void program(Harness& t) {
  sources(t);
  texts(t);
  matchers(t);
}

}  // namespace
}  // namespace quire::conformance

CONFORMANCE(program)
