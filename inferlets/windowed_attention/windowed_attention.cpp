// windowed_attention: each token sees only the latest --window tokens, itself among them.
#include "quire/quire.h"

using namespace quire;

struct Options {
  PromptOption prompt{"Once upon a time"};
  std::uint32_t window = 256;
  GenerateOptions generate = {.temperature = 0.8, .max_tokens = 512, .ignore_stop_tokens = true};

  void read(OptionReader& in) {
    prompt.read(in);
    in.number("window", window, "The latest tokens, which every token sees", {1, 1'000'000});
    in.generation(generate);
  }
};

// Drops the tokens before the window before `token` is computed, so their pages are free.
Task<> read(Context& context, std::uint32_t token, std::uint32_t window) {
  if (context.token_count() >= window) {
    co_await context.flush();
    co_await context.drop_range(0, context.token_count() + 1 - window);
  }
  co_await context.append(token);
}

Task<> program(Options options) {
  Context context = co_await Context::create();
  co_await context.allow_beyond_context();
  const Model model = context.model();
  const std::string prompt = co_await options.prompt.text();
  const auto tokens = co_await model.tokenize(prompt, {.begin_of_text = true});
  for (const std::uint32_t each : tokens) co_await read(context, each, options.window);
  Drawer drawer(options.generate.rule(), options.generate.seed);
  StopRules rules(options.generate.stop_options(model.info()));
  double nats = 0.0;
  while (!rules.ended()) {
    const DrawnToken next = co_await context.draw(drawer);
    nats += next.log_probability();
    if (!rules.accept_token(next.token)) break;
    co_await session::send(rules.accept_bytes(co_await model.detokenize({next.token})));
    co_await read(context, next.token, options.window);
  }
  co_await session::send(rules.finish() + "\n[" + std::to_string(context.page_count()) +
                         " pages, " + std::to_string(nats) + " nats]\n");
}

QUIRE_MAIN(program)
