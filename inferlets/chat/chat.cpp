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

Task<Result<void>> program(std::vector<std::string> command_line) {
  ArgumentNames names = {.values = {"system", "max-tokens"}};
  add_sampler_names(names);
  const Arguments arguments = CO_TRY(Arguments::parse(command_line, names));
  GenerateOptions options;
  options.token_count_max = CO_TRY(arguments.count("max-tokens", 512));
  options.sampler = CO_TRY(sampler_arguments(arguments));

  const Model model = CO_TRY(Model::open());
  Context context = CO_TRY(Context::create(model));
  if (arguments.has("system")) context.system(arguments.text("system"));
  for (;;) {
    Result<std::string> message = co_await session::receive();
    if (!message.ok()) {
      if (message.error().code == ErrorCode::Unavailable) co_return {};  // The client is done.
      co_return std::move(message).take_error();
    }
    const std::string line = line_of(std::move(message).take());
    if (line.empty()) continue;
    context.user(line);
    const Generation answer = CO_TRY(co_await context.generate(options).stream(session::send));
    if (answer.finish_reason == FinishReason::Length) {
      const bool is_full = answer.tokens.size() < options.token_count_max;
      runtime::log(LogLevel::Info, "the answer was cut at " + std::to_string(answer.tokens.size()) +
                                       " tokens" + (is_full ? ": the context is full" : ""));
    }
    CO_TRY(session::send("\n"));
    options.sampler.seed += 1;  // Another turn draws other numbers.
  }
}

}  // namespace

QUIRE_MAIN(program)
