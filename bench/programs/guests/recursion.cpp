// recursion: recursion_of_thought (inferlets/) with texts of a set length, so that a client elsewhere
// can do the same work. A question is always divided: its parts are the halves of what the model
// writes.
#include "quire/quire.h"

using namespace quire;

struct Options {
  PromptOption prompt;
  std::uint32_t depth = 3;
  std::uint32_t divide_tokens = 16;
  std::uint32_t answer_tokens = 8;

  void read(OptionReader& in) {
    prompt.read(in);
    in.number("depth", depth, "How deep calls are nested", {0, 10});
    in.number("divide-tokens", divide_tokens, "Tokens of the two parts of a question");
    in.number("answer-tokens", answer_tokens, "Tokens of an answer");
  }
};

Task<std::string> written(Context& context, std::uint32_t token_count) {
  const Generation text =
      co_await context.generate({.max_tokens = token_count, .ignore_stop_tokens = true});
  co_return valid_utf8(text.text);
}

Task<std::string> solve(Context call, std::string question, std::uint32_t depth, Options options) {
  std::string known;
  if (depth < options.depth) {
    call.user("Write two simpler questions that this question consists of: " + question);
    const std::string text = co_await written(call, options.divide_tokens);
    co_await call.flush();  // What the parts share is computed once.
    const std::size_t middle = text.size() / 2;
    std::vector<Task<std::string>> parts;
    for (const std::string& each : {text.substr(0, middle), text.substr(middle)}) {
      parts.push_back(solve(co_await call.fork(), valid_utf8(each), depth + 1, options));
    }
    for (const std::string& each : co_await gather(std::move(parts))) known += each + "\n";
  }
  call.user(known + "Answer in one sentence: " + question);
  co_return co_await written(call, options.answer_tokens);
}

Task<> program(Options options) {
  Context context = co_await Context::create();
  context.system("You give short and true answers.");
  co_await context.flush();
  const std::string question = co_await options.prompt.text();
  co_await session::send(co_await solve(std::move(context), question, 0, options));
}

QUIRE_MAIN(program)
