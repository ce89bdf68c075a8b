// prefix_tree: answers many prompts that begin alike. What several of them share is a node of a tree,
// and is computed once, to the token.
#include "quire/quire.h"

using namespace quire;

struct Options {
  std::vector<std::string> prompts = {
      "Answer in one sentence. What do cats eat?", "Answer in one sentence. What do cats fear?",
      "Answer in one sentence. What do owls eat?", "Answer in one sentence. What do owls fear?"};
  GenerateOptions generate = {.max_tokens = 32};

  void read(OptionReader& in) {
    in.texts("prompt", prompts, "A prompt; may be given several times");
    in.generation(generate);
  }
};

struct Prompt {
  std::vector<std::uint32_t> tokens;
  std::string* answer = nullptr;
};
struct Tree {
  std::uint32_t node_count = 0;
  std::uint32_t token_count = 0;  // Of all nodes.
};

Task<> answer(Context context, GenerateOptions how, std::string* into) {
  *into = (co_await context.generate(std::move(how))).text;
}

// The node after `context` that all of `prompts` share, and those after it. The context holds the
// first `begin` tokens of each.
Task<> grow(Context context, std::vector<Prompt> prompts, std::size_t begin, GenerateOptions how,
            Tree& tree) {
  // In order, the first and the last prompt share what all of them share.
  const std::vector<std::uint32_t>& first = prompts.front().tokens;
  const std::vector<std::uint32_t>& last = prompts.back().tokens;
  const std::size_t end = std::ranges::mismatch(first, last).in1 - first.begin();
  co_await context.append(std::span(first).subspan(begin, end - begin));
  co_await context.flush();
  tree.node_count += 1;
  tree.token_count += static_cast<std::uint32_t>(end - begin);
  std::vector<Task<>> next;
  while (!prompts.empty()) {
    // A prompt that ends here is answered in a fork. Those with the same next token stay together.
    const std::vector<std::uint32_t> tokens = prompts.front().tokens;
    const auto ends_apart = [&](const Prompt& each) {
      return tokens.size() == end || each.tokens[end] != tokens[end];
    };
    const auto rest = std::find_if(prompts.begin() + 1, prompts.end(), ends_apart);
    std::vector<Prompt> group(prompts.begin(), rest);
    prompts.erase(prompts.begin(), rest);
    Context fork = co_await context.fork();
    next.push_back(tokens.size() == end ? answer(std::move(fork), how, group.front().answer)
                                        : grow(std::move(fork), std::move(group), end, how, tree));
  }
  co_await gather(std::move(next));
}

Task<> program(Options options) {
  Context context = co_await Context::create();
  std::vector<std::string> answers(options.prompts.size());
  std::vector<Prompt> prompts;
  std::size_t token_count = 0;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const std::vector<ChatMessage> turns = {{"user", options.prompts[i]}};
    prompts.push_back({co_await context.model().tokenize_chat(turns, true), &answers[i]});
    token_count += prompts.back().tokens.size();
  }
  std::ranges::sort(prompts, {}, &Prompt::tokens);
  Tree tree;
  co_await grow(std::move(context), std::move(prompts), 0, options.generate, tree);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    co_await session::send(options.prompts[i] + "\n  " + answers[i] + "\n");
  }
  co_await session::send("[" + std::to_string(token_count) + " tokens of prompts in " +
                         std::to_string(tree.node_count) + " nodes of " +
                         std::to_string(tree.token_count) + " tokens]\n");
}

QUIRE_MAIN(program)
