// gemini_generate: the methods of a model in the Gemini interface.
//
//   quire serve --endpoint "POST /v1beta/models/*=gemini_generate.wasm"
//
//   POST /v1beta/models/NAME:generateContent         a whole response
//   POST /v1beta/models/NAME:streamGenerateContent   its chunks: a JSON array, or events (alt=sse)
//   POST /v1beta/models/NAME:countTokens             how many tokens the prompt has
//
// All candidates of a request are forks of one context.
#include "gemini_answer.h"
#include "query.h"

using namespace endpoints;
using namespace endpoints::gemini;

namespace {

// "NAME:METHOD" of a path below one of the collections. A name may have a colon itself.
struct Place {
  std::string model;
  std::string method;

  static Place of(const serve::Request& http) {
    for (const char* each : {"/v1beta/models/", "/v1beta/tunedModels/", "/v1/models/"}) {
      const std::string rest = http.path_after(each);
      if (rest.empty()) continue;
      const std::size_t colon = std::min(rest.rfind(':'), rest.size());
      return {plain_model_name(rest.substr(0, colon)),
              rest.substr(std::min(colon + 1, rest.size()))};
    }
    return {};
  }
};

// Reads "alt", which says whether a stream comes as events.
Result<bool> read_query(const serve::Request& http, bool may_stream) {
  Query query(http);
  const std::string alt = query.find("alt").value_or("json");
  query.find("prettyPrint");  // White space in JSON.
  query.find("quotaUser");
  TRY(query.finish());
  if (alt == "json" || (alt == "sse" && may_stream)) return alt == "sse";
  return wrong("alt",
               json_string(alt) + " is not supported; only json" +
                   (may_stream ? ", or sse for a stream of events" : ""),
               ErrorCode::NotSupported);
}

// The number of tokens of thoughts among those of all answers.
Task<std::size_t> count_thoughts(Model model, std::vector<ChatAnswer> answers) {
  std::size_t count = 0;
  for (const ChatAnswer& each : answers) {
    if (each.reasoning.empty()) continue;
    const std::vector<std::uint32_t> tokens = co_await model.tokenize(each.reasoning);
    count += std::min(tokens.size(), each.tokens.size());
  }
  co_return count;
}

// One candidate, the last chunk of which the caller sends.
Task<ChatAnswer> answer_of(ChatTurn& turn, Candidate& candidate, std::uint32_t token_count_max,
                           bool by_token) {
  ChatAnswer answer = co_await turn.answer(candidate.index(), token_count_max, by_token, candidate);
  co_await candidate.end(answer);
  co_return answer;
}

std::string response_json(const std::vector<std::unique_ptr<Candidate>>& candidates,
                          const Identity& identity, const Usage& usage, std::size_t thought_count,
                          bool is_last_chunk) {
  JsonWriter json;
  json.begin_object().key("candidates").begin_array();
  for (const auto& each : candidates) {
    (is_last_chunk ? each->last() : each->whole()).write(json, each->index());
  }
  json.end_array();
  write_usage(json, usage, thought_count);
  identity.write(json);
  return json.end_object().str();
}

// The answer as JSON: the last chunk of a stream, or all of it if `chunks` is null.
Task<std::string> generated(ChatTurn& turn, const GenerateRequest& request, Chunks* chunks) {
  const Model model = request.prompt.model;
  const Identity identity = co_await Identity::make(model);
  // The context may end an answer before maxOutputTokens does.
  const auto token_count_max = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(request.token_count_max.value_or(turn.room()), turn.room()));
  if (request.candidate_count > 1) co_await turn.compute();
  std::vector<std::unique_ptr<Candidate>> candidates;
  std::vector<Task<ChatAnswer>> tasks;
  for (std::uint32_t i = 0; i < request.candidate_count; ++i) {
    candidates.push_back(std::make_unique<Candidate>(request, identity, i, chunks));
    tasks.push_back(answer_of(turn, *candidates.back(), token_count_max, request.has_logprobs));
  }
  std::vector<ChatAnswer> answers = co_await gather(std::move(tasks));
  Usage usage = turn.usage();
  for (const ChatAnswer& each : answers) usage.answer_count += each.tokens.size();
  const std::size_t thought_count = co_await count_thoughts(model, std::move(answers));
  co_return response_json(candidates, identity, usage, thought_count, chunks != nullptr);
}

Task<> generate(serve::Request http, serve::Response response, Chunks& chunks, Model model,
                bool streams, ConversationOptions options) {
  const Json body = co_await request_body(http);
  LeftOut left_out;
  Members in = members_of(body, left_out);
  GenerateRequest request = co_await read_request(in, model);
  left_out.tell(response);
  request.prompt.is_repaired = options.repairs_prompts;
  options.drafts.add_to(request.generate);
  ChatTurn turn = co_await ChatTurn::begin(request.prompt, request.generate);
  if (!streams) {
    co_return co_await respond_whole(response, options.live, generated(turn, request, nullptr));
  }
  // Before the prompt is computed: gemini-cli waits for a status for 60 s, and not longer.
  co_await chunks.open(options.live);
  co_await chunks.send(co_await generated(turn, request, &chunks));
  co_await chunks.finish();
}

Task<> count(serve::Request http, serve::Response response, Model model) {
  const Json body = co_await request_body(http);
  LeftOut left_out;
  ChatPrompt prompt = co_await read_count_request(body, model, left_out);
  left_out.tell(response);
  const std::size_t count = co_await ChatTurn::count(std::move(prompt));
  JsonWriter json;
  json.begin_object().key("totalTokens").number(count);
  write_token_details(json, "promptTokensDetails", count);
  co_await response.json(200, json.end_object());
}

Task<> respond(serve::Request http, serve::Response response, Chunks& chunks,
               ConversationOptions options) {
  const Place place = Place::of(http);
  if (place.method.empty() && !http.path().starts_with("/v1beta/tunedModels/")) {
    co_return co_await refuse_method(http, response, "GET, HEAD");
  }
  const bool streams = place.method == "streamGenerateContent";
  const bool counts = place.method == "countTokens";
  if (!streams && !counts && place.method != "generateContent") {
    co_await fail(
        ErrorCode::NotFound,
        std::string(http.path()) +
            " is not a method of a model; there are POST /v1beta/models/NAME:generateContent, "
            "POST /v1beta/models/NAME:streamGenerateContent and POST "
            "/v1beta/models/NAME:countTokens");
  }
  chunks.set_events(co_await read_query(http, streams));
  if (place.model.empty()) {
    co_await fail(
        wrong("model", "give the name of one in the path; GET /v1beta/models lists them"));
  }
  const Model model = co_await model_of(place.model);
  if (counts) co_return co_await count(http, response, model);
  co_await generate(http, response, chunks, model, streams, options);
}

Task<> handle(serve::Request request, serve::Response response, ConversationOptions options) {
  Chunks chunks(response);
  co_await answer(request, response, chunks, respond(request, response, chunks, options));
}

}  // namespace

QUIRE_HTTP_MAIN(handle)
