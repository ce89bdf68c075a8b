// gemini_models: GET /v1beta/models and GET /v1beta/models/NAME of the Gemini interface.
//
//   quire serve --endpoint "GET /v1beta/models=gemini_models.wasm"
#include "gemini_models.h"

using namespace endpoints;
using namespace endpoints::gemini;

namespace {

Task<> handle(serve::Request request, serve::Response response) {
  Chunks chunks(response);
  co_await answer(request, response, chunks, respond_with_models(request, response));
}

}  // namespace

QUIRE_HTTP_MAIN(handle)
