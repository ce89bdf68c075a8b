// openai_embeddings: POST /v1/embeddings. The models of this server write text and do not embed, and
// the response says so in the form of the interface.
#include "openai.h"

using namespace endpoints;
using namespace endpoints::openai;

namespace {

Task<> respond(serve::Request request) {
  const Json body = co_await request_body(request);
  LeftOut left_out;
  Members in(body, left_out);
  const Model model = co_await read_model(in);
  const std::string name = co_await model.name();
  co_await fail(wrong("model",
                      name + " writes text and does not embed; this server has no model "
                             "for embeddings",
                      ErrorCode::NotSupported));
}

Task<> handle(serve::Request request, serve::Response response) {
  co_await answer(request, response, respond(request));
}

}  // namespace

QUIRE_HTTP_MAIN(handle)
