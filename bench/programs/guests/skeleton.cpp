// skeleton: skeleton_of_thought (inferlets/) with texts of a set length, so that a client elsewhere can
// do the same work. The points are equal parts of what the model writes.
#include "quire/quire.h"

using namespace quire;

struct Options {
  PromptOption prompt;
  std::uint32_t points = 4;
  std::uint32_t point_tokens = 12;
  std::uint32_t text_tokens = 48;

  void read(OptionReader& in) {
    prompt.read(in);
    in.number("points", points, "Points of the answer", {1, 64});
    in.number("point-tokens", point_tokens, "Tokens of a point");
    in.number("text-tokens", text_tokens, "Tokens of the text about a point");
  }
};

Task<std::string> written(Context& context, std::uint32_t token_count) {
  const Generation text =
      co_await context.generate({.max_tokens = token_count, .ignore_stop_tokens = true});
  co_return valid_utf8(text.text);
}

// One point, in a fork that shares the pages of the question and the skeleton.
Task<std::string> expand(Context context, std::string point, std::uint32_t token_count) {
  context.user("Write two sentences about this point: " + point);
  co_return point + "\n" + co_await written(context, token_count) + "\n";
}

Task<> program(Options options) {
  Context context = co_await Context::create();
  context.user(co_await options.prompt.text() + " Answer with a list of " +
               std::to_string(options.points) + " short points.");
  const std::string skeleton = co_await written(context, options.points * options.point_tokens);
  co_await context.flush();  // What the forks share is computed once.
  const std::size_t part = skeleton.size() / options.points;
  std::vector<Task<std::string>> texts;
  for (std::uint32_t i = 0; i < options.points; ++i) {
    const std::string point = valid_utf8(skeleton.substr(i * part, part));
    texts.push_back(expand(co_await context.fork(), point, options.text_tokens));
  }
  for (const std::string& each : co_await gather(std::move(texts))) co_await session::send(each);
}

QUIRE_MAIN(program)
