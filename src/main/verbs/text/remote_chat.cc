#include "main/verbs/text/remote_chat.h"

#include <cstdio>
#include <cstdlib>
#include <span>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "main/verbs/shared/output.h"
#include "main/verbs/shared/remote_times.h"
#include "main/verbs/text/prompt_input.h"
#include "main/verbs/text/reply_line.h"
#include "main/verbs/text/reply_printer.h"
#include "main/verbs/text/reply_stream.h"

namespace quire {
namespace {

constexpr std::size_t kRefusalBytesMax = std::size_t{1} << 20;

// The body of an answer with status 200 goes to `take`; of another it is kept, to say what the server says.
class Answer final : public inference::HttpReceiver {
 public:
  using Take = std::function<Result<void>(std::string_view bytes)>;
  explicit Answer(Take take) : take_(std::move(take)) {}

  Result<bool> begin(const std::vector<inference::HttpHead>& heads) override {
    status_ = heads.back().status;
    return true;
  }
  Result<void> receive(std::span<const std::byte> bytes) override {
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (status_ == 200) return take_(text);
    if (refusal_.size() + text.size() <= kRefusalBytesMax) refusal_ += text;
    return {};
  }
  // Whether the exchange brought an answer with status 200. An error names the server and the next step.
  Result<void> outcome(const Result<void>& exchange, const std::string& url, bool has_key) const {
    if (!exchange.ok()) {
      const std::string why(exchange.error().message());
      const bool is_silent = status_ == 0 && exchange.error().code() != ErrorCode::Cancelled;
      return Error(exchange.error().code(), is_silent ? "no answer from " + url + ": " + why +
                                                            "; quire serve starts a server"
                                                      : url + ": " + why);
    }
    if (status_ == 200) return {};
    std::string why = printable(refusal_of(refusal_));
    if (why.empty()) why = "it answers with status " + std::to_string(status_);
    if (status_ == 401 && !has_key) why += "; give the key by --key-file FILE or QUIRE_KEY";
    if (status_ == 404)
      why += "; quire serve has the endpoints of OpenAI unless it has --no-endpoints";
    return Error(ErrorCode::Unavailable, url + " refuses: " + why);
  }

 private:
  const Take take_;
  long status_ = 0;
  std::string refusal_;
};

}  // namespace

inference::HttpRequest RemoteChat::request(const char* path) const {
  inference::HttpRequest request;
  request.url = url_ + path;
  request.token = key_;
  request.connect_seconds_max = static_cast<std::uint32_t>(kConnectTimeMax.count() / 1000);
  request.stalled_seconds_max = 0;
  request.is_direct = true;
  if (const char* file = std::getenv("SSL_CERT_FILE"); file != nullptr) request.ca_file = file;
  request.go_on = [this] { return !interrupt_.take(); };
  return request;
}

Result<void> RemoteChat::find_model(const std::string& wanted) {
  std::string body;
  Answer answer([&body](std::string_view bytes) -> Result<void> {
    body += bytes;
    if (body.size() <= kRefusalBytesMax) return {};
    return Error(ErrorCode::TooLarge, "its list of models is longer than 1 MiB");
  });
  const Result<void> done = inference::http_get(request("/v1/models"), answer);
  TRY(answer.outcome(done, url_, !key_.empty()));
  const Json json = TRY(parse_json(body, url_ + "/v1/models"));
  std::string names;
  if (json.is_object() && json.contains("data") && json["data"].is_array()) {
    for (const Json& each : json["data"]) {
      if (!each.is_object() || !each.contains("id") || !each["id"].is_string()) continue;
      const std::string name = each["id"].get<std::string>();
      if (model_.empty() && (wanted.empty() || wanted == name)) model_ = name;
      names += (names.empty() ? "" : ", ") + printable(name);
    }
  }
  if (!model_.empty()) return {};
  if (names.empty()) return Error(ErrorCode::Unavailable, url_ + " has no models");
  return Error(ErrorCode::NotFound,
               "--model: " + url_ + " has no model " + in_quotes(wanted) + "; it has " + names);
}

Result<std::unique_ptr<RemoteChat>> RemoteChat::connect(const cli::ChatOptions& options,
                                                        const cli::ChatSettings& settings,
                                                        const Clock& clock, Interrupt& interrupt) {
  const wire::Endpoint endpoint = TRY(server_endpoint(options.server));
  std::unique_ptr<RemoteChat> chat(new RemoteChat(settings, clock, interrupt));
  TRY(chat->check(settings));
  chat->url_ = (endpoint.has_tls ? "https://" : "http://") + wire::host_and_port(endpoint);
  chat->key_ = TRY(server_key(options.key_file));
  if (options.grammar.kind == cli::GrammarOptions::Kind::JsonSchema) {
    const std::string text = TRY(read_prompt({.text = std::nullopt, .file = options.grammar.text}));
    chat->schema_ = TRY(parse_json(text, options.grammar.text));
  }
  TRY(chat->find_model(options.engine.model));
  return chat;
}

Result<void> RemoteChat::check(const cli::ChatSettings& settings) const {
  const cli::SamplingOptions& given = settings.sampling;
  const cli::SamplingOptions usual;
  const auto refuse = [](const char* name) {
    return Error(ErrorCode::NotSupported, std::string("a server's chat has no ") + name +
                                              "; it has temperature, seed, top-k, top-p, min-p, "
                                              "repetition-penalty, presence-penalty, "
                                              "frequency-penalty, max-tokens and system");
  };
  if (given.typical_p != usual.typical_p) return refuse("typical-p");
  if (given.top_n_sigma != usual.top_n_sigma) return refuse("top-n-sigma");
  if (given.xtc_probability != usual.xtc_probability) return refuse("xtc-probability");
  if (given.xtc_threshold != usual.xtc_threshold) return refuse("xtc-threshold");
  if (given.dry_multiplier != usual.dry_multiplier) return refuse("dry-multiplier");
  if (given.seed <= INT64_MAX) return {};
  return Error(ErrorCode::NotSupported,
               "a server's chat takes a seed of at most " + std::to_string(INT64_MAX));
}

std::string RemoteChat::request_body(const std::string& message) const {
  Json messages = Json::array();
  if (!settings_.system.empty()) {
    messages.push_back({{"role", "system"}, {"content", settings_.system}});
  }
  for (const ChatMessage& each : messages_) {
    messages.push_back({{"role", role_name(each.role)}, {"content", each.content}});
  }
  messages.push_back({{"role", "user"}, {"content", message}});
  const cli::SamplingOptions& sampling = settings_.sampling;
  Json body = {{"model", model_},
               {"messages", std::move(messages)},
               {"stream", true},
               {"stream_options", {{"include_usage", true}}},
               {"max_tokens", settings_.max_tokens},
               {"temperature", sampling.temperature},
               {"seed", sampling.seed},
               {"top_k", sampling.top_k},
               {"top_p", sampling.top_p},
               {"min_p", sampling.min_p},
               {"repetition_penalty", sampling.repetition_penalty},
               {"presence_penalty", sampling.presence_penalty},
               {"frequency_penalty", sampling.frequency_penalty}};
  if (!schema_.is_null()) {
    body["response_format"] = {{"type", "json_schema"},
                               {"json_schema", {{"name", "reply"}, {"schema", schema_}}}};
  }
  return dump_json(body);
}

Result<void> RemoteChat::turn(const std::string& message) {
  const std::uint64_t begin_ns = clock_.now_ns();
  std::uint64_t first_ns = 0;
  const auto note_first = [&] {
    if (first_ns == 0) first_ns = clock_.now_ns();
  };
  ReplyPrinter thoughts(ReplyPrinter::Kind::Thoughts);
  ReplyPrinter reply(ReplyPrinter::Kind::Answer);
  ReplyStream stream(
      [&](const std::string& part) {
        note_first();
        thoughts.end();
        reply.add(part);
      },
      [&](const std::string& part) {
        note_first();
        thoughts.add(part);
      });
  Answer answer([&stream](std::string_view bytes) { return stream.receive(bytes); });
  const Result<void> done =
      inference::http_post(request("/v1/chat/completions"), request_body(message), answer);
  thoughts.end();
  reply.end();
  const bool is_stopped = !done.ok() && done.error().code() == ErrorCode::Cancelled;
  Result<void> outcome = is_stopped ? Result<void>() : answer.outcome(done, url_, !key_.empty());
  if (outcome.ok() && !is_stopped && !stream.is_complete()) {
    outcome = Error(ErrorCode::Unavailable, url_ + " ended the reply in the middle");
  }
  if (!outcome.ok()) {
    if (first_ns != 0) print("\n");
    return outcome;
  }
  const std::uint64_t end_ns = clock_.now_ns();
  if (first_ns == 0) first_ns = end_ns;
  ReplyFigures figures{.is_stopped = is_stopped,
                       .first_s = static_cast<double>(first_ns - begin_ns) * 1e-9,
                       .decode_s = static_cast<double>(end_ns - first_ns) * 1e-9};
  if (const std::optional<ReplyStream::Usage>& usage = stream.usage()) {
    figures.token_count = usage->token_count;
    figures.prompt_count = usage->prompt_count;
    figures.found_count = usage->found_count;
  }
  print_reply_line(figures, terminal_, settings_.shows_figures());
  messages_.push_back({ChatRole::User, message});
  messages_.push_back({ChatRole::Assistant, stream.text()});
  return {};
}

}  // namespace quire
