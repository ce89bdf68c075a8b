// NAME: asks the model for an answer.
//
// It runs inside the server, next to the model. Change generate's options, fork the context, draw
// tokens by a rule of your own, call tools between them: the loop is yours.
#include "quire/quire.h"

using namespace quire;

struct Options {
  PromptOption prompt{"Say hello in five words."};
  GenerateOptions generate = {.max_tokens = 64};

  void read(OptionReader& in) {
    prompt.read(in);
    in.generation(generate);  // --max-tokens, --temperature, --seed and the like.
  }
};

Task<> program(Options options) {
  Context context = co_await Context::create();
  context.user(co_await options.prompt.text());
  const Generation answer = co_await context.generate(options.generate).stream(session::send);
  runtime::log(LogLevel::Info, std::to_string(answer.tokens.size()) + " tokens");
}

QUIRE_MAIN(program)
