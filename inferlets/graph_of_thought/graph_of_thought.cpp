// graph_of_thought: several thoughts about a text, merged two by two until one is left. A thought reads
// the pages of those that it follows where they are, so that a merge recomputes none of them.
#include "quire/quire.h"

using namespace quire;

struct Options {
  PromptOption prompt{
      "The lighthouse was built on a rock in 1811. Its keepers lit oil lamps by hand, "
      "and kept food for months of storm. It has needed no keeper since 1988."};
  std::uint32_t thoughts = 4;
  GenerateOptions generate = {.temperature = 0.6, .max_tokens = 40};

  void read(OptionReader& in) {
    prompt.read(in);
    in.number("thoughts", thoughts, "Thoughts about the text that are merged", {1, 64});
    in.generation(generate);
  }
};

struct Thought {
  std::vector<std::int32_t> pages = {};  // All that a thought after this one sees.
  std::uint32_t end = 0;                 // The position after its last token.
  KvPages own = {};                      // Those of `pages` that hold its own tokens.
  std::string text = {};
};

// The tokens of a turn that asks for `instruction`, to where its answer begins.
Task<std::vector<std::uint32_t>> turn(const Context& context, std::string instruction) {
  std::vector<ChatMessage> messages = context.messages();
  const auto before = (co_await context.model().tokenize_chat(messages, false)).size();
  messages.push_back({"user", std::move(instruction)});
  std::vector<std::uint32_t> tokens = co_await context.model().tokenize_chat(messages, true);
  co_return {tokens.begin() + static_cast<std::ptrdiff_t>(before), tokens.end()};
}

// A new thought: it sees the pages of `parents`, and writes to pages of its own.
Task<Thought> think(Model model, std::vector<const Thought*> parents,
                    std::vector<std::uint32_t> tokens, GenerateOptions how) {
  Thought out;
  for (const Thought* parent : parents) {
    for (const std::int32_t page : parent->pages) {
      if (std::ranges::find(out.pages, page) == out.pages.end()) out.pages.push_back(page);
    }
    out.end = std::max(out.end, parent->end);
  }
  const Queue queue = co_await Queue::create(model);
  out.own = co_await KvPages::allocate(
      queue, (tokens.size() + how.max_tokens) / model.info().page_size + 1);
  out.pages.insert(out.pages.end(), out.own.handles().begin(), out.own.handles().end());
  const Embeds output = co_await Embeds::allocate(queue, 1);
  StopRules rules(how.stop_options(model.info()));
  for (Drawer drawer(how.rule(), how.seed);;) {
    Future<void> passed = co_await forward_tokens(queue, tokens, out.end,
                                                  {.input_pages = out.pages,
                                                   .output_pages = out.own.handles(),
                                                   .output_embeds = output.handles()});
    const Draws next = co_await draw_tokens(model, queue, output.handles(), drawer);
    co_await std::move(passed);
    out.end += tokens.size();
    if (rules.ended()) break;
    tokens = {next.tokens.at(0).token};
    rules.accept_token(tokens[0]);  // A token that ends the turn has no text, and is written too.
    out.text += rules.accept_bytes(co_await model.detokenize(tokens));
  }
  out.text += rules.finish();
  co_return out;
}

Task<> program(Options options) {
  Context context = co_await Context::create();
  context.user("Read this text: " + co_await options.prompt.text());
  context.assistant("I have read it.");
  co_await context.flush();
  const SharedPages pages = co_await context.pages();
  // Thoughts stay until the end: those after them read their pages. The first one is the text.
  std::vector<std::vector<Thought>> levels(1);
  levels[0].push_back({pages.pages.handles(), context.token_count()});
  for (std::uint32_t count = options.thoughts; count > 0;
       count = count == 1 ? 0 : (count + 1) / 2) {
    const bool merges = levels.size() > 1;
    const auto ask = co_await turn(context, merges ? "Sum up what you said." : "What does it say?");
    const std::vector<Thought>& last = levels.back();
    std::vector<Task<Thought>> next;
    for (std::size_t i = 0; i < count; ++i, ++options.generate.seed) {
      // The first thoughts have one parent, the text. An odd last thought is merged with the first.
      std::vector parents = {&last[2 * i % last.size()], &last[(2 * i + 1) % last.size()]};
      next.push_back(think(context.model(), std::move(parents), ask, options.generate));
    }
    levels.push_back(co_await gather(std::move(next)));
    for (const Thought& each : levels.back()) co_await session::send(each.text + "\n");
  }
}

QUIRE_MAIN(program)
