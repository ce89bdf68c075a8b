// tool_agent: an agent that calls a tool after each of its steps, with steps of a set length, so that a
// client elsewhere can do the same work. With --post the tool gets what the model wrote, as an
// agent that acts by writing code has it run; without, the agent gets a page, as agent_react does.
#include "quire/quire.h"

using namespace quire;

struct Options {
  PromptOption prompt;
  std::string system = "Answer in steps. After each step you read what a tool returns.";
  std::string url;
  std::uint32_t calls = 8;
  std::uint32_t step_tokens = 24;
  std::uint32_t answer_tokens = 32;
  bool post = false;

  void read(OptionReader& in) {
    prompt.read(in);
    in.text("system", system, "What the model reads about its tool");
    in.text("url", url, "The tool", Required::Yes);
    in.number("calls", calls, "Calls of the tool", {0, 1000});
    in.number("step-tokens", step_tokens, "Tokens of a step");
    in.number("answer-tokens", answer_tokens, "Tokens of the answer");
    in.flag("post", post, "Post what the model wrote to the tool");
  }
};

Task<std::string> written(Context& context, std::uint32_t token_count) {
  const Generation text =
      co_await context.generate({.max_tokens = token_count, .ignore_stop_tokens = true});
  co_return valid_utf8(text.text);
}

Task<> program(Options options) {
  Context context = co_await Context::create();
  context.system(options.system);
  context.user(co_await options.prompt.text());
  for (std::uint32_t i = 0; i < options.calls; ++i) {
    const std::string step = co_await written(context, options.step_tokens);
    const http::Response result =
        co_await (options.post ? http::post(options.url, step) : http::get(options.url));
    if (!result.ok()) {
      co_await fail(ErrorCode::Unavailable,
                    "the tool answered with the status " + std::to_string(result.status));
    }
    context.user(result.body);
  }
  co_await session::send(co_await written(context, options.answer_tokens));
}

QUIRE_MAIN(program)
