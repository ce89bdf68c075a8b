// family: computes a text, launches itself for the generations below, and waits for them.
#include "quire/quire.h"

using namespace quire;

struct Options {
  std::uint32_t below = 0;

  void read(OptionReader& in) { in.number("below", below, "Generations below this one", {0, 8}); }
};

Task<> program(Options options) {
  Context context = co_await Context::create();
  // Another text in each generation, so that none finds the pages of another.
  co_await context.append_text(
      std::to_string(options.below) +
      " is how many programs come after this one, and each of them reads a text of its own.");
  co_await context.flush();
  co_await session::send(std::to_string(context.token_count()) + "\n");
  if (options.below == 0) co_return;
  Child child =
      co_await Child::launch({.arguments = {"--below", std::to_string(options.below - 1)}});
  co_await child.forward(session::send);
  co_await child.wait();
}

QUIRE_MAIN(program)
