// tree_of_thought: works towards an answer in steps, of which the most promising are followed.
#include "quire/quire.h"

using namespace quire;

struct Options {
  PromptOption prompt{"All but 9 of a farmer's 17 sheep run away. How many are left?"};
  std::uint32_t depth = 2;
  std::uint32_t width = 3;
  std::uint32_t keep = 2;
  std::uint32_t answer_tokens = 128;
  GenerateOptions step = {.temperature = 0.8, .max_tokens = 48};

  void read(OptionReader& in) {
    prompt.read(in);
    in.number("depth", depth, "Steps before the answer", {1, 16});
    in.number("width", width, "Ways to take each step that are tried", {1, 64});
    in.number("keep", keep, "Thoughts that are followed to the next step", {1, 64});
    in.number("answer-tokens", answer_tokens, "Tokens of the answer at most");
    in.generation(step);
  }
};

struct Thought {
  Context context;
  double promise = 0.0;
};

// The model judges in a fork, so that its verdict is not part of the thought.
Task<Thought> judged(Context context) {
  Context judge = co_await context.fork();
  judge.user("Does this lead to the right answer? Say sure, maybe or never.");
  const Choice verdict = co_await judge.choose({"sure", "maybe", "never"});
  co_return Thought{std::move(context), verdict.probabilities[0] + 0.5 * verdict.probabilities[1]};
}

// All ways to take the next step, computed and judged side by side.
Task<std::vector<Thought>> grow(std::vector<Thought> thoughts, Options options) {
  std::vector<Task<std::vector<Branch>>> proposals;
  for (Thought& each : thoughts) {
    each.context.user("Take the next step, in one sentence.");
    proposals.push_back(each.context.sample(options.width, options.step));
  }
  std::vector<Task<Thought>> judgements;
  for (std::vector<Branch>& branches : co_await gather(std::move(proposals))) {
    for (Branch& each : branches) judgements.push_back(judged(std::move(each.context)));
  }
  std::vector<Thought> grown = co_await gather(std::move(judgements));
  std::ranges::sort(grown, std::greater(), &Thought::promise);
  while (grown.size() > options.keep) grown.pop_back();  // Their pages are free at once.
  co_return grown;
}

Task<> program(Options options) {
  std::vector<Thought> thoughts;
  thoughts.push_back({co_await Context::create()});
  thoughts[0].context.system("Work towards an answer to: " + co_await options.prompt.text());
  for (std::uint32_t i = 0; i < options.depth; ++i) {
    thoughts = co_await grow(std::move(thoughts), options);
    options.step.seed += options.width;  // The next step draws other numbers.
  }
  Context& best = thoughts.at(0).context;
  best.user("Now give the final answer.");
  const bool goes_on = options.step.ignore_stop_tokens;
  co_await best.generate({.max_tokens = options.answer_tokens, .ignore_stop_tokens = goes_on})
      .stream(session::send);
}

QUIRE_MAIN(program)
