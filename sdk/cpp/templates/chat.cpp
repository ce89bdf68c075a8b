// NAME: a conversation. Each line that the client sends is a turn, and the answer streams back.
//
// One context holds the conversation next to the model, so each turn costs its own tokens only.
#include "quire/quire.h"

using namespace quire;

struct Options {
  std::string system = "You answer in two or three sentences.";
  GenerateOptions generate = {.temperature = 0.7, .max_tokens = 256};

  void read(OptionReader& in) {
    in.text("system", system, "Instructions to the model");
    in.generation(generate);
  }
};

Task<> program(Options options) {
  Context context = co_await Context::create();
  context.system(options.system);
  for (;;) {
    const Result<std::string> line = co_await attempt(session::receive());
    // The client has ended its side.
    if (!line.ok() && line.error().code == ErrorCode::Unavailable) co_return;
    context.user(co_await line);
    co_await context.generate(options.generate).stream(session::send);
    co_await session::send("\n");
    options.generate.seed += 1;  // Another turn draws other numbers.
  }
}

QUIRE_MAIN(program)
