// output: what an output embedding says of the next token.
#include "steps.h"

namespace quire::conformance {
namespace {

constexpr std::uint32_t kLogprobCountMax = 4096;

void program(Harness& t) {
  const std::int32_t out = written_output(t);
  const std::string dist = t.result("output.get-next-dist", t.queue, out, 8);
  t.check(number_at<std::uint32_t>(dist, 0) == 8 && dist.size() == 4 + 8 * 8, "there are eight");
  t.check(number_at<std::uint32_t>(t.result("output.get-next-dist", t.queue, out, 0), 0) == 256,
          "256 unless asked");
  for (const std::uint32_t top_k : {kVocabulary, 0x8000'0000u, 0xFFFF'FFFFu}) {
    t.check(number_at<std::uint32_t>(t.result("output.get-next-dist", t.queue, out, top_k), 0) ==
                kVocabulary,
            "no more than there are");
  }
  const std::string logprobs = t.result("output.get-logprobs", t.queue, out, Tokens{1, 1, 1023});
  t.check(logprobs.size() == 8 + 12 && number_at<float>(logprobs, 8) < 0, "three logarithms");
  t.check(t.result("output.get-logprobs", t.queue, out, Tokens{}).size() == 8, "of none, none");
  t.check(number_at<float>(t.result("output.get-entropy", t.queue, out), 8) > 0, "some entropy");
  t.check(t.result("output.get-embedding", t.queue, out).size() == 8 + 4 * 128, "128 numbers");
  t.check(t.result("output.get-logits", t.queue, out).size() == 8 + 4 * kVocabulary, "all logits");

  const std::string lists =
      t.result("output.get-next-dists", t.queue, Handles{out, out}, Tokens{}, 8);
  t.check(lists == dist + dist, "a list is its parts");
  Tokens few(kVocabulary / 32, 0);
  few[1] = 7;
  t.check(t.result("output.get-next-dists", t.queue, Handles{out}, few, 8).size() == 4 + 3 * 8,
          "the three that the mask allows");
  t.refused("output.get-next-dists", ErrorCode::InvalidArgument, t.queue, Handles{out}, Tokens{1},
            8);
  t.refused("output.get-next-dists", ErrorCode::InvalidArgument, t.queue, Handles{}, Tokens{}, 8);
  t.refused("output.get-next-dists", ErrorCode::NotFound, t.queue, Handles{t.queue}, Tokens{}, 8);
  t.refused("output.get-next-dists", ErrorCode::InvalidArgument, t.queue, Handles{t.embed},
            Tokens{}, 8);
  t.check(t.result("output.get-logprobs-of", t.queue, Handles{out, out}, Tokens{1, 1023}).size() ==
              8 + 8,
          "a logarithm for each");
  t.refused("output.get-logprobs-of", ErrorCode::InvalidArgument, t.queue, Handles{out}, Tokens{});
  t.refused("output.get-logprobs-of", ErrorCode::OutOfRange, t.queue, Handles{out},
            Tokens{kVocabulary});
  t.refused("output.get-logprobs", ErrorCode::OutOfRange, t.queue, out, Tokens{kVocabulary});
  t.refused("output.get-logprobs", ErrorCode::OutOfRange, t.queue, out, Tokens{1, 0xFFFF'FFFF});
  t.refused("output.get-logprobs", ErrorCode::TooLarge, t.queue, out,
            Tokens(kLogprobCountMax + 1, 1));
  t.result("output.get-logprobs", t.queue, out, Tokens(kLogprobCountMax, 1));
  // No pass wrote this one.
  t.refused("output.get-next-dist", ErrorCode::InvalidArgument, t.queue, t.embed, 8);
  t.refused("output.get-logprobs", ErrorCode::InvalidArgument, t.queue, t.embed, Tokens{1});
  t.refused("output.get-entropy", ErrorCode::InvalidArgument, t.queue, t.embed);
  t.refused("output.get-embedding", ErrorCode::InvalidArgument, t.queue, t.embed);
  t.refused("output.get-logits", ErrorCode::InvalidArgument, t.queue, t.embed);
  // A pass that failed gives its error to who asks of it.
  const Handles never = pages_of(t, 65);
  const Handles some = embedded(t, 2);
  const Handles lost = embeds_of(t, 1);
  const std::int32_t pass = abi::forward::forward(t.queue, never.data(), 1, some.data(), 2, nullptr,
                                                  0, lost.data(), 1, nullptr, 0, 0);
  t.refused("output.get-next-dist", ErrorCode::NoFreePage, t.queue, lost[0], 8);
  t.refused("output.get-entropy", ErrorCode::NoFreePage, t.queue, lost[0]);
  t.fails("forward.forward", ErrorCode::NoFreePage, pass);

  t.mistakes("output.get-next-dist", t.queue, out, 8);
  t.mistakes("output.get-logits", t.queue, out);
  t.mistakes("output.get-logprobs", t.queue, out, Tokens{1, 2});
  t.edges("output.get-logprobs", t.queue, out, Tokens{1, 2});
  t.mistakes("output.get-entropy", t.queue, out);
  t.mistakes("output.get-embedding", t.queue, out);
  for (const Handles& each : {never, some, lost, Handles{out}}) give_back(t, each);
}

}  // namespace
}  // namespace quire::conformance

CONFORMANCE(program)
