// token_endpoints: POST /tokenize, /detokenize and /apply-template: texts as tokens of a model, and
// what its chat template makes of a conversation. Members and responses are those of llama-server and
// of vLLM; "model" may be left out for the server's first.
//
//   POST /tokenize        {"content" or "prompt", "add_special"?, "parse_special"?}
//                         -> {"tokens": [...], "count", "max_model_len"}
//   POST /detokenize      {"tokens": [...]} -> {"content", "prompt"}, the same text
//   POST /apply-template  {"messages", "tools"?, "add_generation_prompt"?, "chat_template_kwargs"?}
//                         -> {"prompt"}
#include "openai.h"
#include "openai_chat_request.h"

using namespace endpoints;
using namespace endpoints::openai;

namespace {

Result<Model> read_model_or_first(Members& in) {
  const Json* name = in.find("model");
  return name == nullptr ? Model::open() : read_model(in);
}

// llama-server says "content" and adds no special token unless asked; vLLM says "prompt", and does.
struct TokenizeRequest {
  std::string text;
  Model::TokenizeOptions options;

  static Result<TokenizeRequest> read(Members& in) {
    TokenizeRequest out;
    const Json* content = in.find("content");
    const Json* prompt = in.find("prompt");
    if ((content == nullptr) == (prompt == nullptr)) {
      return in.bad("content", "give the text as content or as prompt");
    }
    out.text = TRY(in.text(content != nullptr ? "content" : "prompt"));
    const bool adds = TRY(in.flag("add_special", content == nullptr));
    out.options.begin_of_text = TRY(in.flag("add_special_tokens", adds));
    out.options.parse_special = TRY(in.flag("parse_special", true));
    TRY(in.refuse("with_pieces return_token_strs"));  // The response would have another form.
    TRY(in.finish());
    return out;
  }
};

Task<std::string> tokenized(const Json& body, LeftOut& left_out) {
  Members in(body, left_out);
  const Model model = co_await read_model_or_first(in);
  const TokenizeRequest request = co_await TokenizeRequest::read(in);
  const std::vector<std::uint32_t> tokens = co_await model.tokenize(request.text, request.options);
  JsonWriter json;
  json.begin_object().key("tokens").number_array(tokens).key("count").number(tokens.size());
  json.key("max_model_len").number(model.info().context_length);
  co_return json.end_object().str();
}

Task<std::string> detokenized(const Json& body, LeftOut& left_out) {
  Members in(body, left_out);
  const Model model = co_await read_model_or_first(in);
  const Json* given = in.find("tokens");
  co_await in.finish();
  if (given == nullptr || !given->is_array()) {
    co_await fail(wrong("tokens", "give an array of tokens"));
  }
  const std::vector<std::uint32_t> tokens = co_await read_tokens(*given, "tokens", model);
  const std::string text = co_await model.detokenize(tokens, true);
  JsonWriter json;
  json.begin_object().key("content").text(text).key("prompt").text(text);
  co_return json.end_object().str();
}

Task<std::string> templated(const Json& body, LeftOut& left_out) {
  Members in(body, left_out);
  ChatPrompt prompt;
  prompt.model = co_await read_model_or_first(in);
  prompt.messages = co_await read_messages(in);
  co_await read_tools(in, prompt);
  const TemplateVariables variables = co_await TemplateVariables::read(in);
  prompt.template_variables = variables.json();
  const bool answer_next = co_await in.flag("add_generation_prompt", true);
  co_await in.finish();
  co_return co_await ChatTurn::prompt_text(std::move(prompt), answer_next);
}

Task<> respond(serve::Request http, serve::Response response) {
  const Json body = co_await request_body(http);
  LeftOut left_out;
  std::string answer;
  if (http.path() == "/tokenize") {
    answer = co_await tokenized(body, left_out);
  } else if (http.path() == "/detokenize") {
    answer = co_await detokenized(body, left_out);
  } else {
    JsonWriter json;
    json.begin_object().key("prompt").text(co_await templated(body, left_out));
    answer = json.end_object().str();
  }
  left_out.tell(response);
  co_await response.json(200, std::move(answer));
}

Task<> handle(serve::Request request, serve::Response response) {
  co_await answer(request, response, respond(request, response));
}

}  // namespace

QUIRE_HTTP_MAIN(handle)
