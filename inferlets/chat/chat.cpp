// chat: a conversation. Each message of the client is a turn; the answer is streamed back and ends
// with a message that is one newline. One context holds the whole conversation, so each turn costs
// its own tokens only. It ends when the client ends its side.
#include "quire/quire.h"

namespace {

using namespace quire;

// Without the newline that a terminal adds.
std::string line_of(std::string message) {
  while (!message.empty() && (message.back() == '\n' || message.back() == '\r')) message.pop_back();
  return message;
}

Task<> program(std::vector<std::string> command_line) {
  ArgumentNames names = {.values = {"system", "max-tokens"}};
  add_sampler_names(names);
  const Arguments arguments = co_await Arguments::parse(command_line, names);
  GenerateOptions options;
  options.max_tokens = co_await arguments.count("max-tokens", 512);
  use_sampler(co_await sampler_arguments(arguments), options);

  const Model model = co_await Model::open();
  Context context = co_await Context::create(model);
  if (arguments.has("system")) context.system(arguments.text("system"));
  for (;;) {
    Result<std::string> message = co_await attempt(session::receive());
    if (!message.ok()) {
      if (message.error().code == ErrorCode::Unavailable) co_return;  // The client is done.
      co_await fail(std::move(message).take_error());
    }
    const std::string line = line_of(std::move(message).take());
    if (line.empty()) continue;
    context.user(line);
    const Generation answer = co_await context.generate(options).stream(session::send);
    if (answer.finish_reason == FinishReason::Length) {
      const bool is_full = answer.tokens.size() < options.max_tokens;
      runtime::log(LogLevel::Info, "the answer was cut at " + std::to_string(answer.tokens.size()) +
                                       " tokens" + (is_full ? ": the context is full" : ""));
    }
    co_await session::send("\n");
    options.seed += 1;  // Another turn draws other numbers.
  }
}

}  // namespace

QUIRE_MAIN(program)
