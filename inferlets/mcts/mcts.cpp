// mcts: Monte Carlo tree search over the steps towards an answer. It spends its rollouts on the steps
// that look good or were hardly tried, and answers after the steps that it tried most.
#include <cmath>
#include <memory>

#include "quire/quire.h"

using namespace quire;

struct Options {
  PromptOption prompt{"How do I learn to cook?"};
  std::uint32_t rollouts = 6;
  std::uint32_t width = 3;
  std::uint32_t depth = 3;
  double curiosity = 0.5;
  GenerateOptions step = {.temperature = 0.8, .max_tokens = 32};

  void read(OptionReader& in) {
    prompt.read(in);
    in.number("rollouts", rollouts, "How often the search descends the tree", {1, 10'000});
    in.number("width", width, "Ways to take a step that are tried", {1, 64});
    in.number("depth", depth, "Steps before the answer at most", {1, 16});
    in.number("curiosity", curiosity, "Weight of steps that were hardly tried", {0, 100});
    in.generation(step);
  }
};

struct Node {
  Context context;  // The question and the steps to here.
  std::string step = {};
  Node* parent = nullptr;
  std::uint32_t depth = 0;
  double value = 0.0;  // The sum over the visits.
  std::uint32_t visits = 0;
  std::vector<std::unique_ptr<Node>> next = {};

  // The mean value, and more for a node that was visited less than those beside it.
  double promise(double curiosity) const {
    return value / visits + curiosity * std::sqrt(std::log(parent->visits) / visits);
  }
};

Node& best_of(Node& node, double curiosity) {
  return **std::ranges::max_element(node.next, {},
                                    [&](const auto& each) { return each->promise(curiosity); });
}

// The model judges in a fork, so that its verdict is not part of the steps.
Task<double> judged(Context& context) {
  Context judge = co_await context.fork();
  judge.user("Is this a good step? Say yes or no.");
  co_return (co_await judge.choose({"yes", "no"})).probabilities[0];
}

// The steps after `node`: forks that share its pages, generated and judged side by side.
Task<std::vector<double>> expand(Node& node, const Options& options) {
  node.context.user("Take the next step, in one sentence.");
  for (Branch& each : co_await node.context.sample(options.width, options.step)) {
    node.next.push_back(
        std::make_unique<Node>(std::move(each.context), each.answer.text, &node, node.depth + 1));
  }
  std::vector<Task<double>> values;
  for (const auto& each : node.next) values.push_back(judged(each->context));
  co_return co_await gather(std::move(values));
}

void visit(Node* node, double value) {
  for (; node != nullptr; node = node->parent) {
    node->value += value;
    node->visits += 1;
  }
}

Task<> program(Options options) {
  Node root{co_await Context::create()};
  root.context.system("Work towards an answer to: " + co_await options.prompt.text());
  for (std::uint32_t i = 0; i < options.rollouts; ++i) {
    Node* node = &root;
    while (!node->next.empty()) node = &best_of(*node, options.curiosity);
    if (node->depth == options.depth) {
      visit(node, node->value / node->visits);
      continue;
    }
    const std::vector<double> values = co_await expand(*node, options);
    for (std::size_t j = 0; j < values.size(); ++j) visit(node->next[j].get(), values[j]);
    options.step.seed += options.width;  // The next steps draw other numbers.
  }
  Node* node = &root;
  while (!node->next.empty()) {
    node = std::ranges::max_element(node->next, {}, [](const auto& each) {
             return each->visits;
           })->get();
    co_await session::send("- " + node->step + " (" + std::to_string(node->visits) + " visits)\n");
  }
  node->context.user("Now give the final answer.");
  co_await node->context.generate({.max_tokens = 96}).stream(session::send);
}

QUIRE_MAIN(program)
