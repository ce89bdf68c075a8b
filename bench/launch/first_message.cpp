// first_message: what `quire bench launch` launches. It is text_completion, but it sends a message
// before it does anything, and goes on when its client sends one.
#include "quire/quire.h"

using namespace quire;

struct Options {
  PromptOption prompt;
  GenerateOptions generate;

  void read(OptionReader& in) {
    prompt.read(in);
    in.generation(generate);
  }
};

Task<> program(Options options) {
  co_await session::send("ready\n");
  co_await session::receive();
  Context context = co_await Context::create();
  co_await context.append_text(co_await options.prompt.text());
  co_await context.generate(options.generate).stream(session::send);
}

QUIRE_MAIN(program)
