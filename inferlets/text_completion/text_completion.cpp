// text_completion: goes on with a text, or answers it.
#include "quire/quire.h"

using namespace quire;

struct Options {
  PromptOption prompt;
  std::string system;
  bool chat = false;
  GenerateOptions generate;

  void read(OptionReader& in) {
    prompt.read(in);
    in.text("system", system, "Instructions to the model, with --chat");
    in.flag("chat", chat, "Answer the prompt instead of continuing it");
    in.generation(generate);
  }
};

Task<> program(Options options) {
  const std::string prompt = co_await options.prompt.text();
  Context context = co_await Context::create();
  if (options.chat) {
    if (!options.system.empty()) context.system(options.system);
    context.user(prompt);
  } else {
    co_await context.append_text(prompt);
  }
  co_await context.generate(options.generate).stream(session::send);
}

QUIRE_MAIN(program)
