// skeleton_of_thought: writes the points of an answer first, then works out all points side by side.
#include "quire/quire.h"

using namespace quire;

struct Options {
  PromptOption prompt{"How do I stay healthy at a desk job?"};
  std::uint32_t points = 4;
  GenerateOptions generate = {.max_tokens = 64};

  void read(OptionReader& in) {
    prompt.read(in);
    in.number("points", points, "Points of the answer", {1, 64});
    in.generation(generate);
  }
};

// One line for each point. The grammar holds the model to a list of as many as were asked for.
Task<std::vector<std::string>> skeleton(Context& context, std::uint32_t count) {
  std::string list;
  for (std::uint32_t i = 1; i <= count; ++i) list += std::to_string(i) + R"(\. [^\n]{4,60}\n)";
  const Grammar grammar = co_await Grammar::regex(context.model(), list);
  std::string text =
      (co_await context.generate({.max_tokens = 64 * count, .grammar = grammar}).collect()).text;
  std::vector<std::string> points;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n')) {
    points.push_back(text.substr(0, end));
    text.erase(0, end + 1);
  }
  co_return points;
}

// One point, in a fork that shares the pages of the question and the skeleton.
Task<std::string> expand(Context context, std::string point, GenerateOptions how) {
  context.user("Write two sentences about this point: " + point);
  co_return point + "\n" + (co_await context.generate(std::move(how))).text + "\n";
}

Task<> program(Options options) {
  Context context = co_await Context::create();
  context.user(co_await options.prompt.text() + " Answer with a list of " +
               std::to_string(options.points) + " short points.");
  const std::vector<std::string> points = co_await skeleton(context, options.points);
  co_await context.flush();  // What the forks share is computed once.
  std::vector<Task<std::string>> texts;
  for (const std::string& point : points) {
    texts.push_back(expand(co_await context.fork(), point, options.generate));
    options.generate.seed += 1;
  }
  for (const std::string& each : co_await gather(std::move(texts))) co_await session::send(each);
}

QUIRE_MAIN(program)
