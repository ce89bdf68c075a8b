// text_completion at the high level of the SDK: what takes a page of calls in
// text_completion_by_hand.cpp takes three statements here.
#include "quire/quire.h"
#include "request.h"

namespace {

using namespace quire;
using text_completion::Request;

Task<> append_prompt(Context& context, const Request& request) {
  if (!request.chat) co_return co_await context.append_text(request.prompt);
  for (const ChatMessage& each : text_completion::messages_of(request)) {
    context.add(each.role, each.content);
  }
  co_await context.prefill();
}

Task<> program(std::vector<std::string> command_line) {
  Request request = co_await text_completion::read_request(command_line);
  co_await text_completion::acknowledge(request);
  co_await text_completion::complete_prompt(request);
  GenerateOptions options = {.max_tokens = request.token_count_max,
                             .stop = request.stop_texts,
                             .ignore_stop_tokens = request.ignore_eos};
  use_sampler(request.sampler, options);
  const auto show = [&](std::string_view text) {
    return request.json ? Result<void>() : session::send(text);
  };

  const Model model = co_await Model::open();

  Context context = co_await Context::create(model);
  co_await append_prompt(context, request);
  const std::vector<std::uint32_t> prompt = context.tokens();
  const Generation answer = co_await context.generate(options).stream(show);

  if (request.json) {
    co_await session::send(
        text_completion::answer_json(prompt, answer.tokens, answer.text, answer.finish_reason));
  }
}

}  // namespace

QUIRE_MAIN(program)
