// openai_models: GET /v1/models and GET /v1/models/NAME, for clients of OpenAI, Anthropic and
// Gemini. A model has the members of the first two interfaces. Clients of Gemini, which send the
// header x-goog-api-client, get their own form. So do errors; Anthropic's clients are those that
// send the header anthropic-version.
//
//   quire serve --endpoint "GET /v1/models=openai_models.wasm"
#include "anthropic.h"
#include "gemini_models.h"
#include "openai.h"

using namespace endpoints;

namespace {

// `parent`: of an adapter, the model that it changes.
void write_model(JsonWriter& json, const std::string& name, const ModelInfo& info,
                 const std::string& parent = {}) {
  json.begin_object().key("id").text(name);
  json.key("object").text("model").key("created").number(0).key("owned_by").text("quire");
  json.key("type").text("model").key("display_name").text(name);
  json.key("created_at").text("1970-01-01T00:00:00Z").key("lifecycle").text("active");
  json.key("max_input_tokens").number(info.context_length);
  json.key("max_model_len").number(info.context_length);
  if (!parent.empty()) json.key("parent").text(parent).key("root").text(name);
  json.end_object();
}

Task<std::string> one_model(std::string name) {
  const std::vector<std::string> names = co_await Model::available();
  Result<Model> opened = Model::open(name);
  if (!opened.ok()) co_await fail(co_await unknown_model(name));
  const Model model = std::move(opened).take();
  JsonWriter json;
  const bool is_base = std::ranges::find(names, name) != names.end();
  const std::size_t colon = name.rfind(':');
  std::string parent;
  for (const std::string& each : names) {
    if (is_base || !parent.empty()) break;
    std::vector<std::string> none;
    const auto adapters = co_await adapter_names(co_await Model::open(each), each, none);
    const bool has_it = std::ranges::find(adapters, name) != adapters.end() ||
                        (colon != std::string::npos && each == name.substr(0, colon));
    if (has_it) parent = each;
  }
  write_model(json, name, model.info(), parent);
  co_return json.str();
}

Task<std::string> all_models() {
  const std::vector<ServedModel> all = co_await served_models();
  JsonWriter json;
  json.begin_object().key("object").text("list").key("data").begin_array();
  for (const ServedModel& each : all) {
    write_model(json, each.name, each.model.info(), each.base);
  }
  json.end_array().key("has_more").boolean(false);
  json.key("first_id").text(all.front().name).key("last_id").text(all.back().name);
  co_return json.end_object().str();
}

Task<> respond(serve::Request request, serve::Response response) {
  if (gemini::is_method_path(request.path())) {
    co_return co_await gemini::refuse_method(request, response, "POST");
  }
  const std::string name = request.path_after("/v1/models/");
  const std::string json = name.empty() ? co_await all_models() : co_await one_model(name);
  co_await response.json(200, json);
}

Task<> handle(serve::Request request, serve::Response response) {
  if (request.header("x-goog-api-client")) {
    gemini::Chunks chunks(response);
    co_return co_await gemini::answer(request, response, chunks,
                                      gemini::respond_with_models(request, response));
  }
  Task<> handling = respond(request, response);
  if (request.header("anthropic-version")) {
    co_await anthropic::answer(request, response, std::move(handling));
  } else {
    co_await openai::answer(request, response, std::move(handling));
  }
}

}  // namespace

QUIRE_HTTP_MAIN(handle)
