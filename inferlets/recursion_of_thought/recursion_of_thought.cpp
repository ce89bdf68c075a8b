// recursion_of_thought: divides a question into two until the parts are simple enough to answer. Each
// part is a call of its own, in a fork of the call that made it.
#include "quire/quire.h"

using namespace quire;

struct Options {
  PromptOption prompt{"What do bees eat, and where do birds sleep?"};
  std::uint32_t depth = 2;
  double divide_at = 0.01;
  GenerateOptions answer = {.max_tokens = 32};

  void read(OptionReader& in) {
    prompt.read(in);
    in.number("depth", depth, "How deep calls are nested at most", {0, 10});
    in.number("divide-at", divide_at, "Divide a question if it is complex with this probability",
              {0, 1});
    in.generation(answer);
  }
};

struct Call {
  std::string answer;
  std::string trace = {};  // The question and the answer of the call, and of those that it made.
  std::uint32_t call_count = 1;
  std::uint32_t token_count = 0;  // Tokens that these calls added to what their caller holds.
};

// The model judges in a fork, so that its verdict is not part of the call.
Task<bool> is_complex(Context& call, std::string question, double divide_at) {
  if (divide_at == 0) co_return true;
  Context judge = co_await call.fork();
  judge.user("Is this question simple or complex? " + question);
  const Choice verdict = co_await judge.choose({"simple", "complex"});
  co_return verdict.probabilities[1] >= divide_at;
}

// Two questions, one a line. The grammar makes questions of whatever the model writes.
Task<std::vector<std::string>> divide(Context& call, std::string question) {
  call.user("Write two simpler questions that this question consists of: " + question);
  constexpr const char* kLine = R"((What|How|Why|When|Where|Who) [^\n?]{4,60}\?\n)";
  const Grammar two = co_await Grammar::regex(call.model(), std::string(kLine) + kLine);
  const std::string text = (co_await call.generate({.max_tokens = 600, .grammar = two})).text;
  co_await call.flush();  // What the parts share is computed once.
  const std::size_t middle = text.find('\n'), end = text.rfind('\n');
  if (middle == end) co_await fail(ErrorCode::OutOfRange, "no room for the parts of: " + question);
  co_return {text.substr(0, middle), text.substr(middle + 1, end - middle - 1)};
}

Task<Call> solve(Context call, std::string question, std::uint32_t depth, Options options) {
  const std::uint32_t shared_count = call.token_count();
  Call out;
  std::string known;
  if (depth < options.depth && co_await is_complex(call, question, options.divide_at)) {
    std::vector<Task<Call>> parts;
    for (const std::string& each : co_await divide(call, question)) {
      parts.push_back(solve(co_await call.fork(), each, depth + 1, options));
    }
    for (const Call& part : co_await gather(std::move(parts))) {
      known += part.answer + "\n";
      out.trace += part.trace;
      out.call_count += part.call_count;
      out.token_count += part.token_count;
    }
  }
  call.user(known + "Answer in one sentence: " + question);
  out.answer = (co_await call.generate(options.answer)).text;
  out.token_count += call.token_count() - shared_count;
  out.trace = std::string(2 * depth, ' ') + question + " -> " + out.answer + "\n" + out.trace;
  co_return out;
}

Task<> program(Options options) {
  const std::string question = co_await options.prompt.text();
  Context context = co_await Context::create();
  context.system("You give short and true answers.");
  co_await context.flush();
  const Call first = co_await solve(std::move(context), question, 0, options);
  co_await session::send(first.trace + "[" + std::to_string(first.call_count) + " calls, " +
                         std::to_string(first.token_count) + " tokens]\n");
}

QUIRE_MAIN(program)
