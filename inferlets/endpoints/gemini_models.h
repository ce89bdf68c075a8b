#pragma once
// The list of models in the Gemini interface, and one of them. Adapters are models, too.
#include <string>
#include <vector>

#include "gemini.h"
#include "query.h"

namespace endpoints::gemini {

inline void write_model(JsonWriter& json, const std::string& name, const ModelInfo& info) {
  json.begin_object().key("name").text("models/" + name).key("baseModelId").text(name);
  json.key("version").text("1").key("displayName").text(name).key("description").text("");
  json.key("inputTokenLimit")
      .number(info.context_length - 1);  // The answer has at least one token.
  json.key("outputTokenLimit").number(info.context_length - 1);
  json.key("supportedGenerationMethods").begin_array().text("generateContent");
  json.text("streamGenerateContent").text("countTokens").end_array();
  json.key("temperature").number(1).key("maxTemperature").number(2);
  json.key("topP").number(1).key("topK").number(0).end_object();
}

// A page of the list; its token says how many models come before it.
inline Task<std::string> page_of_models(Query& query) {
  constexpr std::uint64_t kPageSize = 50;
  constexpr std::uint64_t kPageSizeMax = 1000;
  const std::vector<ServedModel> all = co_await served_models();
  std::uint64_t size = (co_await query.whole("pageSize", {0, kLargestWhole})).value_or(0);
  size = size == 0 ? kPageSize : std::min(size, kPageSizeMax);  // As Google's servers do.
  const std::string token = query.find("pageToken").value_or("");
  const std::uint64_t first =
      token.empty() ? 0 : (co_await query.whole("pageToken", {0, all.size()})).value_or(0);
  query.find("prettyPrint");
  co_await query.finish();
  const std::uint64_t end = std::min<std::uint64_t>(first + size, all.size());
  JsonWriter json;
  json.begin_object().key("models").begin_array();
  for (std::uint64_t i = first; i < end; ++i) write_model(json, all[i].name, all[i].model.info());
  json.end_array();
  if (end < all.size()) json.key("nextPageToken").text(std::to_string(end));
  co_return json.end_object().str();
}

// Answers GET .../models and GET .../models/NAME.
inline Task<> respond_with_models(serve::Request request, serve::Response response) {
  if (is_method_path(request.path())) co_return co_await refuse_method(request, response, "POST");
  Query query(request);
  const std::string version = request.path().starts_with("/v1beta/") ? "/v1beta" : "/v1";
  const std::string name = plain_model_name(request.path_after(version + "/models/"));
  if (name.empty()) co_return co_await response.json(200, co_await page_of_models(query));
  query.find("prettyPrint");
  co_await query.finish();
  const Model model = co_await model_of(name);
  JsonWriter json;
  write_model(json, name, model.info());
  co_await response.json(200, json);
}

}  // namespace endpoints::gemini
