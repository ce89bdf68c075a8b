// sample: tokens drawn by the device, and the loop in the host.
#include "steps.h"

namespace quire::conformance {
namespace {

constexpr std::uint32_t kGenerationCountMax = 64;
constexpr std::uint32_t kStopTokenCountMax = 1024;

void draws(Harness& t) {
  const std::int32_t context = computed_context(t, 5);
  const std::string drawn = t.result("sample.forward-sample", context, 0.0, 0, 1.0, 0.0, 0.0, 1);
  t.check(number_at<std::uint32_t>(drawn, 0) < kVocabulary && drawn.size() == 8, "a token");
  for (const std::uint32_t top_k : {1u, 0x8000'0000u, 0xFFFF'FFFFu}) {
    t.result("sample.forward-sample", context, 0.7, top_k, 0.9, 0.1, 0.999999, 0);
  }
  const std::int32_t out = written_output(t);
  t.result("sample.draw-token", t.queue, out, 1.0, 0, 1.0, 0.0, 0.5);
  t.refused("sample.draw-token", ErrorCode::InvalidArgument, t.queue, t.embed, 1.0, 0, 1.0, 0.0,
            0.5);
  t.refused("sample.draw-token", ErrorCode::InvalidArgument, t.queue, out, 1.0, 0, 1.0, 0.0, 1.0);
  t.refused("sample.forward-sample", ErrorCode::InvalidArgument, context, 1.0, 0, 1.0, 0.0, 1.0, 0);
  const std::int32_t empty = abi::context::create(t.queue);
  t.refused("sample.forward-sample", ErrorCode::OutOfRange, empty, 0.0, 0, 1.0, 0.0, 0.0, 0);
  t.mistakes("sample.forward-sample", context, 1.0, 0, 1.0, 0.0, 0.5, 0);
  t.mistakes("sample.draw-token", t.queue, out, 1.0, 0, 1.0, 0.0, 0.5);
  give_back(t, {context, out, empty});
}

void generates(Harness& t) {
  const std::int32_t context = computed_context(t, 5);
  const char* generate = "sample.generate";
  const std::int32_t first = t.ok(generate, context, 0.0, 0, 1.0, 0.0, 7, 4, Tokens{});
  std::uint32_t count = 0;
  std::uint32_t how = 0;
  while (how == 0) {
    const std::string some = t.result("sample.next-tokens", first, 0);
    if (some.size() < 8) break;
    how = number_at<std::uint32_t>(some, 0);
    count += number_at<std::uint32_t>(some, 4);
  }
  t.check(how == 2 && count == 4, "four tokens, then its length is reached");
  t.drop(first);
  t.refused(generate, ErrorCode::TooLarge, context, 0.0, 0, 1.0, 0.0, 0, 1,
            Tokens(kStopTokenCountMax + 1, 1));
  t.refused(generate, ErrorCode::OutOfRange, context, 0.0, 0, 1.0, 0.0, 0, 1, Tokens{kVocabulary});
  t.mistakes(generate, context, 1.0, 0, 1.0, 0.0, 0, 1, Tokens{1});

  const std::int32_t long_one = t.ok(generate, context, 0.0, 0, 1.0, 0.0, 7, 1000, Tokens{});
  t.refused(generate, ErrorCode::Unavailable, context, 0.0, 0, 1.0, 0.0, 7, 1000, Tokens{});
  t.refused("sample.forward-sample", ErrorCode::Unavailable, context, 0.0, 0, 1.0, 0.0, 0.0, 0);
  const std::int32_t waits = t.ok("sample.next-tokens", long_one, 900);
  t.refused("sample.next-tokens", ErrorCode::AlreadyExists, long_one, 1);
  t.mistakes("sample.next-tokens", long_one, 1);
  t.mistakes("sample.stop-generation", long_one);
  t.result("sample.stop-generation", long_one);
  t.check(number_at<std::uint32_t>(t.take("sample.next-tokens", waits), 0) == 3, "it was stopped");
  t.drop(long_one);
  t.refused("sample.next-tokens", ErrorCode::NotFound, long_one, 0);
  t.refused("sample.stop-generation", ErrorCode::NotFound, long_one);
  t.drop(context);

  Handles contexts;
  Handles generations;
  for (std::uint32_t i = 0; i <= kGenerationCountMax; ++i)
    contexts.push_back(computed_context(t, 2));
  for (std::uint32_t i = 0; i < kGenerationCountMax; ++i) {
    generations.push_back(t.ok(generate, contexts[i], 0.0, 0, 1.0, 0.0, 7, 8, Tokens{}));
  }
  t.refused(generate, ErrorCode::QuotaExceeded, contexts.back(), 0.0, 0, 1.0, 0.0, 7, 8, Tokens{});
  give_back(t, generations);
  give_back(t, contexts);
}

void program(Harness& t) {
  draws(t);
  generates(t);
}

}  // namespace
}  // namespace quire::conformance

CONFORMANCE(program)
