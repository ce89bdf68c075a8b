// NAME: a search. Writes several answers side by side, lets the model judge each, and sends the best.
//
// The question is computed once: each answer is a fork that shares its pages, and each verdict is a
// fork of an answer.
#include "quire/quire.h"

using namespace quire;

struct Options {
  PromptOption prompt{"Think of a riddle about a river, and write it down."};
  std::uint32_t n = 4;
  GenerateOptions generate = {.temperature = 0.9, .max_tokens = 80};

  void read(OptionReader& in) {
    prompt.read(in);
    in.number("n", n, "Number of answers", {1, 64});
    in.generation(generate);
  }
};

// How probable the model finds "yes", in a fork: the verdict is not part of the answer.
Task<double> judged(Context judge) {
  judge.user("Is this a good answer? Say yes or no.");
  const Choice verdict = co_await judge.choose({"yes", "no"});
  co_return verdict.probabilities[0];
}

Task<> program(Options options) {
  Context question = co_await Context::create();
  question.user(co_await options.prompt.text());
  std::vector<Branch> answers = co_await question.sample(options.n, options.generate);
  std::vector<Task<double>> judgements;
  for (Branch& each : answers) judgements.push_back(judged(co_await each.context.fork()));
  const std::vector<double> scores = co_await gather(std::move(judgements));

  const auto best = std::ranges::max_element(scores) - scores.begin();
  for (std::size_t i = 0; i < scores.size(); ++i) {
    runtime::log(LogLevel::Info, json_number(scores[i]) + "  " + answers[i].answer.text);
  }
  co_await session::send(answers[best].answer.text + "\n");
}

QUIRE_MAIN(program)
