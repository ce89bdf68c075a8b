// openai_models: GET /v1/models and GET /v1/models/NAME, for clients of OpenAI and of Anthropic. A
// model has the members of both interfaces. An error has the form of the client; Anthropic's clients
// are those that send the header anthropic-version.
//
//   quire serve --endpoint "GET /v1/models=openai_models.wasm"
#include "anthropic.h"
#include "openai.h"

using namespace endpoints;

namespace {

void write_model(JsonWriter& json, const std::string& name, const ModelInfo& info) {
  json.begin_object().key("id").text(name);
  json.key("object").text("model").key("created").number(0).key("owned_by").text("quire");
  json.key("type").text("model").key("display_name").text(name);
  json.key("created_at").text("1970-01-01T00:00:00Z").key("lifecycle").text("active");
  json.key("max_input_tokens").number(info.context_length);
  json.key("max_model_len").number(info.context_length).end_object();
}

Task<std::string> one_model(std::string name) {
  const std::vector<std::string> names = co_await Model::available();
  if (std::ranges::find(names, name) == names.end()) co_await fail(unknown_model(name, names));
  const Model model = co_await Model::open(name);
  JsonWriter json;
  write_model(json, name, model.info());
  co_return json.str();
}

Task<std::string> all_models() {
  const std::vector<std::string> names = co_await Model::available();
  JsonWriter json;
  json.begin_object().key("object").text("list").key("data").begin_array();
  for (const std::string& each : names) {
    const Model model = co_await Model::open(each);
    write_model(json, each, model.info());
  }
  json.end_array().key("has_more").boolean(false);
  json.key("first_id").text(names.front()).key("last_id").text(names.back());
  co_return json.end_object().str();
}

Task<> respond(serve::Request request, serve::Response response) {
  const std::string name = request.path_after("/v1/models/");
  const std::string json = name.empty() ? co_await all_models() : co_await one_model(name);
  co_await response.json(200, json);
}

Task<> handle(serve::Request request, serve::Response response) {
  Task<> handling = respond(request, response);
  if (request.header("anthropic-version")) {
    co_await anthropic::answer(request, response, std::move(handling));
  } else {
    co_await openai::answer(response, std::move(handling));
  }
}

}  // namespace

QUIRE_HTTP_MAIN(handle)
