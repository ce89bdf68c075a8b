// complete_http: an HTTP endpoint that goes on with a text.
//
//   quire serve --endpoint "POST /complete=complete_http.wasm"
//   curl localhost:7847/complete -d '{"prompt": "Once upon a time", "max_tokens": 16}'
//
// With "stream": true the text comes as events, one for each piece, and last "[DONE]".
#include "quire/quire.h"

using namespace quire;

struct Limits {
  std::uint32_t max_tokens = 4096;

  void read(OptionReader& in) {
    in.number("max-tokens", max_tokens, "Tokens that a request may ask for at most");
  }
};

// The options of a generation, as the request gives them.
Task<GenerateOptions> generation_of(serve::Request request, Json body, std::uint32_t most) {
  GenerateOptions options;
  const double count = co_await body.number("max_tokens", std::min(options.max_tokens, most));
  if (!(count >= 1 && count <= most)) {
    co_await request.refuse(400, "\"max_tokens\" is from 1 to " + std::to_string(most));
  }
  options.max_tokens = static_cast<std::uint32_t>(count);
  options.temperature = co_await body.number("temperature", options.temperature);
  if (!(options.temperature >= 0.0)) {
    co_await request.refuse(400, "\"temperature\" is 0 or more");
  }
  const double seed = co_await body.number("seed", static_cast<double>(options.seed));
  if (!(seed >= 0 && seed < 9007199254740992.0)) {
    co_await request.refuse(400, "\"seed\" is from 0 to 2^53 - 1");
  }
  options.seed = static_cast<std::uint64_t>(seed);
  co_return options;
}

JsonWriter text_of(std::string_view text) {
  JsonWriter json;
  json.begin_object().key("text").text(text).end_object();
  return json;
}

Task<> handle(serve::Request request, serve::Response response, Limits limits) {
  const Json body = co_await request.json();
  if (!body["prompt"].is_text()) co_await request.refuse(400, "\"prompt\" is a text");
  const GenerateOptions options = co_await generation_of(request, body, limits.max_tokens);
  Context context = co_await Context::create();
  co_await context.append_text(std::string(body.text("prompt")));
  if (body.boolean("stream")) {
    const serve::EventStream events = co_await response.events();
    co_await context.generate(options).stream(
        [&](std::string_view text) { return events.send(text_of(text)); });
    co_await events.send("[DONE]");
    co_return;
  }
  const Generation answer = co_await context.generate(options);
  JsonWriter json;
  json.begin_object().key("text").text(answer.text);
  json.key("finish_reason").text(finish_reason_name(answer.finish_reason));
  json.key("completion_tokens").number(answer.tokens.size()).end_object();
  co_await response.json(200, json);
}

QUIRE_HTTP_MAIN(handle)
