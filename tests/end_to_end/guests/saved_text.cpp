// saved_text: goes on with a text, or with the saved context of one, by the most probable tokens.
// It sends the tokens it drew as a JSON array, and if it opened a context, on a second line, the
// array that the program which saved the context left in the store.
#include <algorithm>

#include "quire/quire.h"

namespace {

using namespace quire;

using Tokens = std::vector<std::uint32_t>;

struct Options {
  std::string open;
  std::string save;
  std::string text = "[]";
  std::uint32_t count = 1;

  void read(OptionReader& in) {
    in.text("open", open, "Open the context of this name, and keep it until the end");
    in.text("text", text, "Go on with a new context of these tokens, not with the opened one");
    in.number("count", count, "How many tokens to draw");
    in.text("save", save, "Save the context under this name, and the drawn tokens by this key");
  }
};

Task<Tokens> tokens_of(std::string list) {
  const Json json = co_await Json::parse(list);
  Tokens tokens;
  for (const Json& each : json.items()) {
    tokens.push_back(static_cast<std::uint32_t>(co_await each.number()));
  }
  co_return tokens;
}

Task<Tokens> go_on(Context& context, std::uint32_t count) {
  Tokens drawn;
  while (drawn.size() < count) {
    const std::vector<float> logits = co_await context.next_logits();
    const auto best = std::max_element(logits.begin(), logits.end());
    drawn.push_back(static_cast<std::uint32_t>(best - logits.begin()));
    co_await context.append(drawn.back());
  }
  co_return drawn;
}

Task<> program(Options given) {
  const Model model = co_await Model::open();
  const Tokens text = co_await tokens_of(given.text);
  Context opened = given.open.empty() ? co_await Context::create(model)
                                      : co_await Context::open(model, given.open);
  Context begun = co_await Context::create(model);
  co_await begun.append(text);
  Context& context = text.empty() ? opened : begun;
  const std::string drawn = JsonWriter().number_array(co_await go_on(context, given.count)).str();
  co_await session::send(drawn + "\n");
  if (!given.open.empty()) co_await session::send((co_await store::get(given.open)).bytes + "\n");
  if (!given.save.empty()) {
    co_await context.save(given.save);
    co_await store::put(given.save, drawn);
  }
}

}  // namespace

QUIRE_MAIN(program)
