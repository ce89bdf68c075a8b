// anthropic_count_tokens: POST /v1/messages/count_tokens of the Anthropic interface.
//
//   quire serve --endpoint "POST /v1/messages/count_tokens=anthropic_count_tokens.wasm"
#include "anthropic.h"

using namespace endpoints;
using namespace endpoints::anthropic;

namespace {

Task<> respond(serve::Request http, serve::Response response) {
  const Json body = co_await request_body(http);
  LeftOut left_out;
  MessagesRequest request = co_await read_request(body, true, left_out);
  left_out.tell(response);
  const std::size_t count = co_await ChatTurn::count(std::move(request.prompt));
  JsonWriter json;
  co_await response.json(200, json.begin_object().key("input_tokens").number(count).end_object());
}

Task<> handle(serve::Request request, serve::Response response) {
  co_await answer(request, response, respond(request, response));
}

}  // namespace

QUIRE_HTTP_MAIN(handle)
