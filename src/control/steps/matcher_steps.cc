#include "control/steps/matcher_steps.h"

#include <functional>
#include <utility>

namespace quire::control {

using inference::TokenId;

namespace {

// The work of a matcher's step, on the matchers' thread.
std::function<Result<AnswerBody>()> step_of(const Operation& operation, std::uint32_t vocabulary) {
  const MatcherRef state = operation.read->matchers.front()->state;
  switch (operation.type) {
    case index_of<ForkMatcher>(): {
      const MatcherRef child = operation.read->matchers.back()->state;
      return [state, child]() -> Result<AnswerBody> {
        fork_into(*state, *child);
        return AnswerBody(Done{});
      };
    }
    case index_of<AcceptTokens>(): {
      std::vector<TokenId> tokens;
      for (const std::uint32_t token : body_of<AcceptTokens>(operation).tokens) {
        tokens.push_back(TokenId{token});
      }
      return [state, tokens = std::move(tokens)]() -> Result<AnswerBody> {
        return AnswerBody(Accepted{.is_complete = TRY(accept(*state, tokens))});
      };
    }
    case index_of<RollBackMatcher>():
      return [state, count = body_of<RollBackMatcher>(operation).count]() -> Result<AnswerBody> {
        inference::Matcher* matcher = TRY(usable(*state));
        TRY(matcher->roll_back(count));
        return AnswerBody(Done{});
      };
    case index_of<GetTokenMask>():
      return [state, vocabulary]() -> Result<AnswerBody> {
        return AnswerBody(TokenMaskWords{.words = TRY(token_mask(*state, vocabulary))});
      };
    default:
      break;
  }
  return [state, count = body_of<GetForcedTokens>(operation).count_max]() -> Result<AnswerBody> {
    inference::Matcher* matcher = TRY(usable(*state));
    Tokens tokens;
    for (const TokenId token : matcher->forced(count)) {
      tokens.ids.push_back(static_cast<std::uint32_t>(token));
    }
    return AnswerBody(std::move(tokens));
  };
}

}  // namespace

Attempt MatcherSteps::attempt(Operation& operation, BatchDraft*) {
  MatcherObject* matcher = operation.read->matchers.front();
  if (is<DropMatcher>(operation)) {
    matchers_.release(operation.instance->tenant, std::move(matcher->state));
    tools_.table.matchers.destroy(matcher);
    return done(operation);
  }
  if (is<ForkMatcher>(operation)) {
    operation.read->matchers.back()->forced_run = matcher->forced_run;
  } else if (is<AcceptTokens>(operation) || is<RollBackMatcher>(operation)) {
    matcher->forced_run.clear();
  }
  auto outcome = std::make_shared<std::optional<Result<AnswerBody>>>();
  operation.state = OperationState::Running;
  matchers_.start(
      operation.instance->tenant,
      [work = step_of(operation, resources().model.vocabulary_size), outcome]() mutable {
        *outcome = std::exchange(work, nullptr)();
      },
      [this, ref = Ref<Operation>(&operation), outcome] {
        Operation* waiting = ref.get();
        if (waiting != nullptr) tools_.table.finish(*waiting, std::move(**outcome));
      });
  return Attempt::Blocked;
}

}  // namespace quire::control
