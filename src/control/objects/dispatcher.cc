#include "control/objects/dispatcher.h"

#include <utility>

#include "base/planted_fault.h"

namespace quire::control {

void Dispatcher::answer(InstanceId instance, FutureId future, Result<AnswerBody> body) {
  if (future == kNoFuture) return;
  ++answer_count_;
  report(walk_, WalkStop::Dispatcher);
  sink_.answer({.instance = instance, .future = future, .body = std::move(body)});
}

Result<AnswerBody> answer_of(Result<inference::Distribution> distribution,
                             inference::DistributionKind kind) {
  if (!distribution.ok()) {
    const bool is_swallowed = is_planted(Fault::ErrorSwallowed);
    if (is_swallowed && kind == inference::DistributionKind::TopK) {
      return AnswerBody(NextDistribution{});
    }
    return std::move(distribution).take_error();
  }
  inference::Distribution taken = std::move(distribution).take();
  if (kind != inference::DistributionKind::TopK) {
    return AnswerBody(Values{.all = std::move(taken.values)});
  }
  NextDistribution next;
  next.tokens.reserve(taken.tokens.size());
  for (const inference::TokenId token : taken.tokens) {
    next.tokens.push_back(static_cast<std::uint32_t>(token));
  }
  next.probabilities = std::move(taken.probabilities);
  return AnswerBody(std::move(next));
}

}  // namespace quire::control
