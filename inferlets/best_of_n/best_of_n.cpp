// best_of_n: --n answers to one question at once, of which the most probable is given.
#include "quire/quire.h"

using namespace quire;

struct Options {
  PromptOption prompt{"What is the capital of France?"};
  std::uint32_t n = 4;
  GenerateOptions generate = {.temperature = 0.8, .max_tokens = 64};

  void read(OptionReader& in) {
    prompt.read(in);
    in.number("n", n, "Answers, of which the most probable is given", {1, 1000});
    in.generation(generate);
  }
};

Task<> program(Options options) {
  Context question = co_await Context::create();
  question.user(co_await options.prompt.text());
  // The question is computed once; each answer is a fork that shares its pages.
  const std::vector<Branch> answers = co_await question.sample(options.n, options.generate);
  const auto mean = [](const Branch& each) { return each.answer.mean_log_probability(); };
  const Branch& best = *std::ranges::max_element(answers, {}, mean);
  co_await session::send(best.answer.text);
}

QUIRE_MAIN(program)
