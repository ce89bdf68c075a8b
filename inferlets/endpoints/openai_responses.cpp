// openai_responses: /v1/responses of the OpenAI interface.
//
//   quire serve --endpoint "POST /v1/responses=openai_responses.wasm"
//       --endpoint "GET /v1/responses/*=openai_responses" ...
//
// A response is kept, with the context that it leaves as a snapshot: a request that goes on with it
// (previous_response_id) computes only its own tokens. If the snapshot has gone, the context is
// computed again from the items, which gives the same bytes.
#include <optional>
#include <string>
#include <string_view>

#include "openai_responses_background.h"
#include "openai_responses_request.h"
#include "query.h"

using namespace endpoints;
using namespace endpoints::openai;

namespace {

std::string array_of(const std::vector<std::string>& values) {
  JsonWriter json;
  json.begin_array();
  for (const std::string& each : values) json.raw(each);
  return json.end_array().str();
}

// ---- an earlier response ------------------------------------------------------------------------

struct Earlier {
  EarlierConversation conversation;
  std::optional<SavedContext> saved;
};

Task<Earlier> read_earlier(ResponseStore responses, std::string id) {
  const ResponseEntry entry = co_await responses.find(id);
  if (entry.status != "completed" && entry.status != "incomplete") {
    co_await fail(ErrorCode::InvalidArgument,
                  "the response " + id + " is " + entry.status +
                      "; a conversation goes on with one that is completed or incomplete");
  }
  const Json response =
      co_await responses.get_json(id, ResponsePart::Response, entry.response_part_count);
  Earlier out;
  out.conversation.input =
      co_await responses.get_json(id, ResponsePart::Input, entry.input_part_count);
  out.conversation.output = response["output"];
  if (entry.token_part_count == 0) co_return out;
  const std::string bytes =
      co_await responses.get(id, ResponsePart::Tokens, entry.token_part_count);
  std::vector<std::uint32_t> tokens(bytes.size() / sizeof(std::uint32_t));
  std::memcpy(tokens.data(), bytes.data(), tokens.size() * sizeof(std::uint32_t));
  out.saved = SavedContext{id, std::move(tokens), std::string(response.text("model"))};
  co_return out;
}

// Moves what `wanted` names among `items` to `out`.
void take_items(const Json& items, std::vector<std::string>& wanted, ReferencedItems& out) {
  for (const Json& each : items.items()) {
    if (std::erase(wanted, each.text("id")) > 0) out.emplace_back(each.text("id"), each);
  }
}

// The items that the request refers to, as far as the tenant's stored responses have them.
Task<ReferencedItems> find_referenced(Json input, ResponseStore responses) {
  ReferencedItems out;
  std::vector<std::string> wanted, ids;
  for (const Json& each : input.items()) {
    if (!is_reference(each)) continue;
    wanted.emplace_back(each.text("id"));
    ids.push_back(ResponseStore::id_of_item(wanted.back()));
  }
  if (wanted.empty()) co_return out;
  if (!co_await ResponseStore::has_store()) {
    co_await fail(wrong("input",
                        "an item is named by its id, and " + std::string(kKeepsNothing) +
                            ", or send the items themselves",
                        ErrorCode::NotFound));
  }
  Result<std::vector<std::string>> others = co_await attempt(responses.ids());
  if (others.ok()) ids.insert(ids.end(), others.value().begin(), others.value().end());
  for (std::size_t i = 0; i < ids.size() && !wanted.empty(); ++i) {
    const Result<ResponseEntry> entry = co_await attempt(responses.find(ids[i]));
    if (!entry.ok() || entry.value().response_part_count == 0)
      continue;  // It left, or is not over.
    const ResponseEntry& found = entry.value();
    const Json response =
        co_await responses.get_json(ids[i], ResponsePart::Response, found.response_part_count);
    take_items(response["output"], wanted, out);
    take_items(co_await responses.get_json(ids[i], ResponsePart::Input, found.input_part_count),
               wanted, out);
  }
  co_return out;
}

struct Options {
  ResponseLimits limits;
  ConversationOptions conversation;

  void read(OptionReader& in) {
    limits.read(in);
    conversation.read(in);
  }
};

Task<ResponsesRequest> read_request(Json body, ResponseStore responses, serve::Response response) {
  const Json previous = body["previous_response_id"];
  Earlier earlier;
  if (!previous.is_null()) {
    if (!previous.is_text()) co_await fail(wrong("previous_response_id", "must be a string"));
    Result<Earlier> found = co_await attempt(read_earlier(responses, std::string(previous.text())));
    if (!found.ok()) co_await fail(blamed("previous_response_id", found.error()));
    earlier = std::move(found).take();
  }
  const ReferencedItems referenced = co_await find_referenced(body["input"], responses);
  LeftOut left_out;
  ResponsesRequest request = co_await read_responses_request(body, earlier.conversation, referenced,
                                                             random_seed(), left_out);
  left_out.tell(response);
  request.prompt.saved = std::move(earlier.saved);
  co_return request;
}

// ---- a new response -----------------------------------------------------------------------------

// One request until its response is over.
struct Work {
  ResponsesRequest request;
  std::string instructions;
  ResponseStore responses;
  ChatTurn turn;
  ResponseHead head;
  std::uint32_t token_count_max;
  ResponseEntry entry = {};
};

// Whether the response will be kept. A server without a store keeps none, unless it is asked to.
Task<bool> is_kept(ResponseStore responses, const ResponsesRequest& request) {
  if (request.store == false) co_return false;
  const Result<void> room = co_await attempt(responses.make_room());
  if (room.ok()) co_return true;
  if (room.error().code != ErrorCode::NotSupported) co_await room;
  if (request.store == true || request.is_background) {
    co_await fail(wrong(request.is_background ? "background" : "store", kKeepsNothing,
                        ErrorCode::NotSupported));
  }
  co_return false;
}

// The conversation with the answer, as the next turn will read it. Empty if no turn can go on with
// it: a call that the answer is cut in is not whole.
Task<std::vector<std::uint32_t>> conversation_tokens(const Work& work,
                                                     std::vector<std::string> output) {
  LeftOut left_out;  // Not read: what is left out of the items was reported when they came.
  Conversation conversation(0, left_out);
  if (!work.instructions.empty()) conversation.instruct(work.instructions);
  for (const std::vector<std::string>& items : {work.request.items, output}) {
    for (const std::string& each : items) {
      const Json item = co_await Json::parse(each);
      if (!conversation.add(item, "output").ok()) co_return std::vector<std::uint32_t>();
    }
  }
  ChatPrompt prompt = work.request.prompt;
  prompt.messages = conversation.messages();
  std::vector<std::uint32_t> tokens = co_await ChatTurn::conversation_tokens(std::move(prompt));
  const std::uint32_t context_length = work.request.prompt.model.info().context_length;
  if (tokens.size() > context_length) tokens.resize(context_length);
  co_return tokens;
}

// Saves the context. Without it the next turn computes all of its prompt.
Task<std::uint32_t> save_context(Work& work, std::vector<std::string> output) {
  SavedContext context{work.head.id, co_await conversation_tokens(work, std::move(output)),
                       work.head.model};
  if (context.tokens.empty()) co_return 0;
  std::string bytes(context.tokens.size() * sizeof(std::uint32_t), '\0');
  std::memcpy(bytes.data(), context.tokens.data(), bytes.size());
  const Result<void> saved =
      co_await attempt(work.turn.save(std::move(context), work.responses.save_options()));
  if (!saved.ok()) {
    runtime::log(LogLevel::Warning,
                 "the context of " + work.head.id + " is not saved: " + saved.error().message);
    co_return 0;
  }
  co_return co_await work.responses.put(work.head.id, ResponsePart::Tokens, std::move(bytes));
}

// The response is on disk when the task is ready. already-exists or not-found: it was canceled or
// deleted.
Task<> keep(Work& work, const ResponseOutput& output, const ResponseState& state) {
  const std::string& id = work.head.id;
  ResponseEntry entry = work.entry;
  entry.status = state.status;
  if (!state.error) entry.token_part_count = co_await save_context(work, output.items());
  entry.input_part_count =
      co_await work.responses.put(id, ResponsePart::Input, array_of(work.request.items));
  entry.response_part_count =
      co_await work.responses.put(id, ResponsePart::Response, output.response(state));
  work.entry = co_await work.responses.publish(id, entry);
}

// Lets the model answer, and gives how that ended.
Task<ResponseState> answered(Work& work, ResponseOutput& output) {
  if (work.head.is_stored) work.turn.keep_answer();
  const ChatAnswer answer =
      co_await work.turn.answer(0, work.token_count_max, work.request.has_logprobs, output);
  ResponseState state{.status = "completed", .usage = work.turn.usage()};
  state.usage->answer_count = answer.tokens.size();
  state.is_cut = answer.finish_reason == FinishReason::Length || answer.is_cut_in_call;
  if (state.is_cut) state.status = "incomplete";
  if (!state.is_cut) state.completed = static_cast<std::int64_t>(std::time(nullptr));
  if (!answer.reasoning.empty()) {
    const std::vector<std::uint32_t> tokens =
        co_await work.request.prompt.model.tokenize(answer.reasoning);
    state.reasoning_count = tokens.size();
  }
  co_await output.end(!state.is_cut);
  co_return state;
}

Task<ResponseState> carried_out(Work& work, ResponseOutput& output) {
  ResponseState state = co_await answered(work, output);
  if (work.head.is_stored) co_await keep(work, output, state);
  co_await output.report("response." + state.status, state);
  co_return state;
}

class ClientEvents : public EventOutput {
 public:
  explicit ClientEvents(serve::LiveEvents stream) : stream_(std::move(stream)) {}
  Task<> event(std::string type, std::string json) override {
    return stream_.send(std::move(json), {.name = std::move(type)});
  }
  Task<> finish() { return stream_.finish(); }

 private:
  serve::LiveEvents stream_;
};

// The error as the client reads it. The log has the text of one that is not about the request.
Error logged(const Error& error, const std::string& id) {
  if (is_internal(error)) runtime::log(LogLevel::Failure, id + ": " + error.text());
  return shown_error(error, "the response " + id);
}

Task<std::string> whole(Work& work) {
  ResponseOutput output(work.request.prompt.model, work.head, nullptr);
  const ResponseState state = co_await carried_out(work, output);
  co_return output.response(state);
}

// The first events do not wait for the prompt.
Task<> begin_early(ResponseOutput& output) {
  co_await sleep(kRefusalTime);
  co_await output.begin({});
}

Task<> in_foreground(Work work, serve::Response http, LiveOptions live) {
  const Model model = work.request.prompt.model;
  if (!work.request.is_stream) co_return co_await respond_whole(http, live, whole(work));
  ClientEvents events(co_await live.open(http));
  ResponseOutput output(model, work.head, &events);
  Task<> early = co_await spawn(begin_early(output));
  const Result<ResponseState> outcome = co_await attempt(carried_out(work, output));
  early.drop();
  if (!outcome.ok() && http.begun()) {
    const ResponseState state{.status = "failed", .error = logged(outcome.error(), work.head.id)};
    co_await output.report("response.failed", state);
  }
  if (http.begun()) co_await events.finish();
  if (!outcome.ok()) co_await fail(outcome.error());
}

// ---- in the background --------------------------------------------------------------------------

// Keeps what the response begins with.
Task<> begin_in_store(Work& work, const ResponseOutput& output) {
  const std::string& id = work.head.id;
  ResponseEntry entry{.status = "queued", .is_background = true};
  entry.input_part_count =
      co_await work.responses.put(id, ResponsePart::Input, array_of(work.request.items));
  entry.begun_part_count =
      co_await work.responses.put(id, ResponsePart::Begun, output.response({.status = "queued"}));
  work.entry = co_await work.responses.publish(id, entry);
}

Task<> carry_out_in_background(Work& work, ResponseOutput& output, KeptEvents& events) {
  for (const char* each : {"response.created", "response.queued"}) {
    co_await output.report(each, {.status = "queued"});
  }
  work.entry.status = "in_progress";
  work.entry = co_await work.responses.publish(work.head.id, work.entry);
  co_await output.report("response.in_progress", {.status = "in_progress"});
  ResponseState state = co_await answered(work, output);
  events.ignore_messages();
  co_await keep(work, output, state);
  co_await output.report("response." + state.status, state);
}

// The last event, and the entry, of a response that did not come to its own end.
Task<> end_early(Work& work, ResponseOutput& output, const Error& error) {
  const Result<ResponseEntry> now = co_await attempt(work.responses.find(work.head.id));
  if (!now.ok()) co_return co_await work.responses.erase(work.head.id);  // It was deleted.
  if (now.value().status == "cancelled") {
    co_return co_await output.report("response.incomplete", {.status = "cancelled"});
  }
  const ResponseState state{.status = "failed", .error = logged(error, work.head.id)};
  work.entry = now.value();
  co_await keep(work, output, state);
  co_await output.report("response.failed", state);
}

Task<> in_background(Work work, serve::Response http, LiveOptions live) {
  messaging::Subscription messages = co_await messaging::subscribe(work.head.id);
  ResponseOutput begun(work.request.prompt.model, work.head, nullptr);
  co_await begin_in_store(work, begun);
  std::optional<serve::LiveEvents> stream;
  if (work.request.is_stream) {
    stream = co_await live.open(http, ": ping\n\n", serve::AfterClient::GoOn);
  } else {
    co_await http.json(200, begun.response({.status = "queued"}));
  }
  KeptEvents events(work.head.id, std::move(messages), std::move(stream));
  ResponseOutput output(work.request.prompt.model, work.head, &events);
  const Result<void> outcome = co_await attempt(carry_out_in_background(work, output, events));
  if (!outcome.ok()) {
    events.ignore_messages();
    co_await end_early(work, output, outcome.error());
  }
  co_await events.finish();
}

// ---- requests -----------------------------------------------------------------------------------

Task<> create(serve::Request http, serve::Response response, Options options) {
  const ResponseStore responses(options.limits);
  const Json body = co_await request_body(http);
  ResponsesRequest request = co_await read_request(body, responses, response);
  request.prompt.is_repaired = options.conversation.repairs_prompts;
  options.conversation.drafts.add_to(request.generate);
  const bool is_stored = co_await is_kept(responses, request);
  ChatTurn turn = co_await ChatTurn::begin(request.prompt, request.generate);
  const std::uint32_t token_count_max =
      co_await answer_room(request.prompt.model, turn.usage().prompt_count, turn.room(),
                           request.token_count_max, "max_output_tokens");
  ResponseHead head{.id = responses.make_id(),
                    .created = static_cast<std::int64_t>(std::time(nullptr)),
                    .model = co_await request.prompt.model.name(),
                    .echo = request.echo,
                    .is_stored = is_stored};
  const bool is_background = request.is_background;
  Work work{std::move(request), std::string(body.text("instructions")),
            responses,          std::move(turn),
            std::move(head),    token_count_max};
  const LiveOptions live = options.conversation.live;
  if (is_background) co_return co_await in_background(std::move(work), response, live);
  co_await in_foreground(std::move(work), response, live);
}

Task<> count_tokens(serve::Request http, serve::Response response, ResponseStore responses) {
  ResponsesRequest request =
      co_await read_request(co_await request_body(http), responses, response);
  JsonWriter json;
  json.begin_object().key("object").text("response.input_tokens").key("input_tokens");
  json.number(co_await ChatTurn::count(std::move(request.prompt)));
  co_await response.json(200, json.end_object());
}

// The response as it is now.
Task<std::string> response_now(ResponseStore responses, std::string id, ResponseEntry entry) {
  if (entry.response_part_count > 0) {
    co_return co_await responses.get(id, ResponsePart::Response, entry.response_part_count);
  }
  const Json begun = co_await responses.get_json(id, ResponsePart::Begun, entry.begun_part_count);
  JsonWriter json;
  json.begin_object();
  for (const auto& [name, value] : begun.members()) {
    json.key(name);
    if (name == "status") {
      json.text(entry.status);
    } else if (name == "error" && entry.status == "failed") {
      json.raw(R"({"code":"server_error","message":"the server ended before the response did"})");
    } else {
      json.raw(value.str());
    }
  }
  co_return json.end_object().str();
}

Task<> retrieve(serve::Request http, serve::Response response, ResponseStore responses,
                std::string id, LiveOptions live) {
  Query query(http);
  const bool is_stream = co_await query.flag("stream");
  const std::optional<std::uint64_t> after =
      co_await query.whole("starting_after", {0, kLargestWhole});
  co_await query.flag("include_obfuscation");
  co_await query.finish();
  const ResponseEntry entry = co_await current_entry(responses, id);
  if (!is_stream) {
    co_return co_await response.json(200, co_await response_now(responses, id, entry));
  }
  if (!entry.is_background) {
    co_await fail(wrong("stream",
                        "only a response that was created with \"background\": true keeps "
                        "its events"));
  }
  EventFollower follower(responses, id, after ? static_cast<double>(*after) : -1);
  co_await follower.follow(co_await live.open(response));
}

Task<> cancel(serve::Response response, ResponseStore responses, std::string id) {
  ResponseEntry entry = co_await current_entry(responses, id);
  if (!entry.is_background) {
    co_await fail(wrong("background", "only a response that was created with it can be cancelled"));
  }
  while (!entry.is_over()) {  // Its program changes the entry at most twice.
    entry.status = "cancelled";
    const Result<ResponseEntry> published = co_await attempt(responses.publish(id, entry));
    if (published.ok()) co_await messaging::broadcast(id, kCancel);
    if (!published.ok() && published.error().code != ErrorCode::AlreadyExists) co_await published;
    entry = co_await responses.find(id);
  }
  co_await response.json(200, co_await response_now(responses, id, entry));
}

Task<> erase(serve::Response response, ResponseStore responses, std::string id) {
  co_await responses.find(id);
  const Result<std::uint32_t> stopped = messaging::broadcast(id, kCancel);
  if (!stopped.ok() && stopped.error().code != ErrorCode::QuotaExceeded) co_await stopped;
  co_await responses.erase(id);
  JsonWriter json;
  json.begin_object().key("id").text(id).key("object").text("response");
  co_await response.json(200, json.key("deleted").boolean(true).end_object());
}

// The items that the model read: those of earlier turns first, unless the order is "desc".
Task<> list_input(serve::Request http, serve::Response response, ResponseStore responses,
                  std::string id) {
  Query query(http);
  const std::string order = query.find("order").value_or("desc");
  if (order != "asc" && order != "desc") co_await fail(wrong("order", "must be asc or desc"));
  const std::uint64_t count_max = (co_await query.whole("limit", {1, 100})).value_or(20);
  const std::optional<std::string> after = query.find("after");
  co_await query.finish();
  const ResponseEntry entry = co_await responses.find(id);
  const Json input = co_await responses.get_json(id, ResponsePart::Input, entry.input_part_count);
  std::vector<Json> items;
  for (const Json& each : input.items()) items.push_back(each);
  if (order == "desc") std::ranges::reverse(items);
  if (after) {
    const auto is_it = [&](const Json& each) { return each.text("id") == *after; };
    const auto found = std::ranges::find_if(items, is_it);
    if (found == items.end()) co_await fail(wrong("after", "there is no item " + *after));
    items.erase(items.begin(), found + 1);
  }
  const bool has_more = items.size() > count_max;
  items.resize(std::min<std::size_t>(items.size(), count_max));
  JsonWriter json;
  json.begin_object().key("object").text("list").key("data").begin_array();
  for (const Json& each : items) json.raw(each.str());
  json.end_array().key("has_more").boolean(has_more);
  json.key("first_id").text(items.empty() ? "" : items.front().text("id"));
  json.key("last_id").text(items.empty() ? "" : items.back().text("id"));
  co_await response.json(200, json.end_object());
}

// The methods that a path below /v1/responses takes; empty if there is nothing.
std::string_view methods_at(std::string_view id, std::string_view what) {
  if (what == "/input_items") return "GET, HEAD";
  if (what == "/cancel" || (id == "input_tokens" && what.empty())) return "POST";
  return what.empty() ? "GET, HEAD, DELETE" : "";
}

Task<> refuse_method(serve::Request http, serve::Response response, std::string allowed) {
  const Error error{ErrorCode::InvalidArgument,
                    http.target() + " takes " + allowed + ", not " + http.method()};
  co_await response.json(405, error_json(error), {{"allow", allowed}});
}

Task<> refuse_path(serve::Request http) {
  co_await fail(ErrorCode::NotFound, "there is nothing at " + http.method() + " " + http.target());
}

Task<> respond(serve::Request http, serve::Response response, Options options) {
  const ResponseStore responses(options.limits);
  std::string id = http.path_after("/v1/responses/");
  const std::size_t slash = std::min(id.find('/'), id.size());
  const std::string what = id.substr(slash);
  id.resize(slash);
  const std::string& method = http.method();
  if (id.empty() && method == "POST") return create(http, response, options);
  const std::string allowed(methods_at(id, what));
  if (allowed.find(method) == std::string::npos) {
    // Parts of the interface that this server lacks, such as POST /v1/responses/compact, are not ids.
    const bool is_name = what.empty() && id != "input_tokens" && !id.starts_with("resp_");
    return allowed.empty() || is_name ? refuse_path(http) : refuse_method(http, response, allowed);
  }
  if (what == "/input_items") return list_input(http, response, responses, id);
  if (what == "/cancel") return cancel(response, responses, id);
  if (id == "input_tokens") return count_tokens(http, response, responses);
  if (method == "DELETE") return erase(response, responses, id);
  return retrieve(http, response, responses, id, options.conversation.live);
}

Task<> handle(serve::Request request, serve::Response response, Options options) {
  co_await answer(request, response, respond(request, response, options));
}

}  // namespace

QUIRE_HTTP_MAIN(handle)
