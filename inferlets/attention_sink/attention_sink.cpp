// attention_sink: goes on with a text for as long as it is asked to, in a constant number of pages.
#include "quire/quire.h"

using namespace quire;

struct Options {
  PromptOption prompt{"Once upon a time"};
  std::uint32_t sink = 4;
  std::uint32_t window = 256;
  GenerateOptions generate = {.temperature = 0.8, .max_tokens = 1024, .ignore_stop_tokens = true};

  void read(OptionReader& in) {
    prompt.read(in);
    in.number("sink", sink, "The first tokens, which every token sees", {0, 1'000'000});
    in.number("window", window, "The latest tokens, which every token sees", {1, 1'000'000});
    in.generation(generate);
  }
};

Task<> program(Options options) {
  Context context = co_await Context::create();
  co_await context.allow_beyond_context();
  co_await context.append_text(co_await options.prompt.text());
  std::uint32_t pages_max = 0;
  Generator generator = context.generate(options.generate);
  while (const std::optional<Piece> piece = co_await generator.next()) {
    if (!piece->text.empty()) co_await session::send(piece->text);
    // Tokens before the window are dropped: their pages are free, and later ones keep their places.
    const std::uint32_t count = context.token_count();
    if (count > options.sink + options.window) {
      co_await context.drop_range(options.sink, count - options.window);
    }
    pages_max = std::max(pages_max, context.page_count());
  }
  co_await session::send("\n[" + std::to_string(context.token_count()) + " tokens in " +
                         std::to_string(context.page_count()) + " pages, at most " +
                         std::to_string(pages_max) + "]\n");
}

QUIRE_MAIN(program)
