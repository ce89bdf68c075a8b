// chat: a conversation. Each message of the client is a turn; the answer is streamed back and ends
// with a message that is one newline. One context holds the whole conversation, so each turn costs
// its own tokens only. It ends when the client ends its side. With --name the conversation is saved
// after each answer, and the next run of that name goes on with it, also after the server was away.
#include "quire/quire.h"

using namespace quire;

struct Options {
  std::string name;
  std::string system;
  GenerateOptions generate = {.max_tokens = 512};

  void read(OptionReader& in) {
    in.text("name", name,
            "Keep the conversation under this name, and go on with it if it is there");
    in.text("system", system, "Instructions to the model, where the conversation begins");
    in.generation(generate);
  }
};

// Without the newline that a terminal adds.
std::string line_of(std::string message) {
  while (!message.empty() && (message.back() == '\n' || message.back() == '\r')) message.pop_back();
  return message;
}

Task<> program(Options options) {
  const Model model = co_await Model::open();
  Context context = options.name.empty() ? co_await Context::create(model)
                                         : co_await Context::open_or_create(model, options.name);
  if (context.messages().empty() && !options.system.empty()) context.system(options.system);
  for (;;) {
    const Result<std::string> message = co_await attempt(session::receive());
    if (!message.ok() && message.error().code == ErrorCode::Unavailable) co_return;  // It is done.
    const std::string line = line_of(co_await message);
    if (line.empty()) continue;
    context.user(line);
    const Generation answer = co_await context.generate(options.generate).stream(session::send);
    if (answer.finish_reason == FinishReason::Length) {
      const bool is_full = answer.tokens.size() < options.generate.max_tokens;
      runtime::log(LogLevel::Info, "the answer was cut at " + std::to_string(answer.tokens.size()) +
                                       " tokens" + (is_full ? ": the context is full" : ""));
    }
    co_await session::send("\n");
    if (!options.name.empty()) co_await context.save(options.name, {.overwrite = true});
    options.generate.seed += 1;  // Another turn draws other numbers.
  }
}

QUIRE_MAIN(program)
