#include "application/server/endpoint_desk.h"

#include <algorithm>
#include <utility>

#include "application/server/endpoint_failure.h"
#include "application/server/error_forms.h"
#include "base/check.h"
#include "base/utf8.h"
#include "service/held_errors.h"

namespace quire::server {
namespace {

// The operator's log has so much of what a program logs, because a program must not fill it.
constexpr std::uint32_t kToldLineCountMax = 16;
constexpr std::size_t kToldLineBytesMax = 512;

HttpAnswer refusal_of(const RequestName& request, const Error& error,
                      std::uint64_t retry_after_ms) {
  const std::string message(error.message());
  switch (error.code()) {
    case ErrorCode::QuotaExceeded:
      return refusal_for(request, 429, error.code(), message, retry_after_ms);
    case ErrorCode::Unavailable:
      return refusal_for(request, 503, error.code(), message, retry_after_ms);
    case ErrorCode::TooLarge:
      return refusal_for(request, 413, error.code(), message);
    default:
      return refusal_for(request, 500, error.code(), message);
  }
}

}  // namespace

// A connection whose client has sent a request.
struct EndpointDesk::Caller {
  Peer peer;
  Exchange* exchange = nullptr;  // Null: its response is over.
};

// A request's instance, until its end was heard.
struct EndpointDesk::Exchange {
  lifecycle::InstanceId id{};
  std::uint64_t number = 0;              // By which its program and the log know it.
  std::string method, path, request_id;  // For the operator. The path is without its query.
  control::TenantId tenant{};
  std::string key_name;
  const EndpointRule* rule = nullptr;
  std::uint64_t begun_ns = 0;
  std::uint32_t status = 0;         // Of the response, once it has begun.
  std::uint64_t first_byte_ns = 0;  // After begun_ns, of the response's body. 0: there was none.
  std::uint64_t response_ns = 0;    // The same of its end.
  RequestOutcome outcome{};         // Since the response is over.
  Caller* caller = nullptr;         // Null: the response is over, or the client is gone.
  bool has_begun = false;           // The response.
  bool is_left = false;             // The client left before the response was whole.
  bool is_discarded = false;
  std::uint32_t told_line_count = 0;
  service::HeldErrors held_errors;

  // "POST /x req_1".
  std::string label() const { return method + " " + printable(path) + " " + request_id; }
  LogFields place() const {
    return {{"request_id", request_id}, {"method", method}, {"path", path}, {"instance", number}};
  }
};

namespace {

double milliseconds_of(std::uint64_t ns) {
  return static_cast<double>(ns / 1000) / 1000.0;
}

Severity severity_of(service::LogLevel level) {
  switch (level) {
    case service::LogLevel::Debug:
      return Severity::Debug;
    case service::LogLevel::Info:
      return Severity::Info;
    case service::LogLevel::Warning:
      return Severity::Warning;
    case service::LogLevel::Error:
      break;
  }
  return Severity::Error;
}

}  // namespace

LogFields EndpointDesk::request_fields(const Exchange& exchange, const service::End& end,
                                       const control::InstanceStatistics& used) {
  LogFields fields = exchange.place();
  fields.insert(fields.end(),
                {{"status", std::uint64_t{exchange.status}},
                 {"outcome", kRequestOutcomeNames[static_cast<std::size_t>(exchange.outcome)]},
                 {"end", end_kind_name(end.kind)},
                 {"exit_code", std::int64_t{end.exit_code}},
                 {"duration_ms", milliseconds_of(exchange.response_ns)},
                 {"first_byte_ms", milliseconds_of(exchange.first_byte_ns)},
                 {"first_token_ms", milliseconds_of(end.first_token_ns)},
                 {"cpu_ms", milliseconds_of(end.cpu_ns)},
                 {"prompt_tokens", used.prompt_token_count},
                 {"cached_tokens", used.found_prompt_token_count},
                 {"generated_tokens", used.generated_token_count},
                 {"tenant", std::uint64_t{static_cast<std::uint32_t>(exchange.tenant)}},
                 {"program", exchange.rule->program}});
  add_key_name(fields, exchange.key_name);
  if (!end.limit.empty()) fields.emplace_back("limit", end.limit);
  return fields;
}

EndpointDesk::EndpointDesk(const GatewayParts& parts, Outlet& outlet, ProgramNames& programs,
                           const ServiceLimits& limits, RequestCounts& counts,
                           access::TenantRates& rates, AdapterDesk& adapters,
                           std::function<HttpAnswer()> metrics)
    : parts_(parts),
      outlet_(outlet),
      programs_(programs),
      limits_(limits),
      counts_(counts),
      rates_(rates),
      forms_(adapters, outlet,
             [this](ConnectionId id) {
               const auto found = callers_.find(id);
               return found == callers_.end() ? nullptr : &found->second->peer;
             }),
      metrics_(std::move(metrics)),
      refusing_(outlet) {}

EndpointDesk::~EndpointDesk() = default;

// ---- Requests.

bool EndpointDesk::takes(const Inbound& inbound) const {
  return std::holds_alternative<HttpRequest>(inbound.body) ||
         std::holds_alternative<MetricsRequest>(inbound.body) ||
         callers_.contains(inbound.connection->id);
}

void EndpointDesk::handle(Inbound& inbound) {
  if (std::holds_alternative<Gone>(inbound.body)) {
    gone(inbound.connection);
  } else if (std::holds_alternative<MetricsRequest>(inbound.body)) {
    outlet_.push(caller_of(inbound.connection).peer, metrics_(), inbound.bytes);
  } else if (auto* part = std::get_if<HttpBodyPart>(&inbound.body)) {
    body_part(caller_of(inbound.connection), *part, inbound.bytes);
  } else if (auto& http = std::get<HttpRequest>(inbound.body); http.form) {
    adapter_form(caller_of(inbound.connection), http, inbound.bytes);
  } else {
    request(caller_of(inbound.connection), http, inbound.bytes);
  }
}

// Rates count it as any other request.
void EndpointDesk::adapter_form(Caller& caller, HttpRequest& request, std::uint64_t bytes) {
  const auto late =
      rates_.take(request.caller->tenant, access::TenantRates::Use::Request, parts_.clock.now_ns());
  if (!late) {
    forms_.begin(caller.peer, request, bytes);
    return;
  }
  outlet_.push(caller.peer,
               refusal_of({request.target, request.request_id}, late->error, late->retry_after_ms),
               bytes);
}

EndpointDesk::Caller& EndpointDesk::caller_of(const ConnectionHandle& connection) {
  std::unique_ptr<Caller>& caller = callers_[connection->id];
  if (caller == nullptr) {
    caller = std::make_unique<Caller>();
    caller->peer.connection = connection;
  }
  return *caller;
}

Result<lifecycle::InstanceId> EndpointDesk::launch(HttpRequest& request) {
  if (!takes_launches_) return Error(ErrorCode::Unavailable, "the server is shutting down");
  const Digest digest =
      TRY(programs_.digest_of(*request.caller, {std::nullopt, request.rule->program}));
  const std::optional<lifecycle::ProgramId> program = parts_.manager.find_program(digest);
  if (!program) {
    return Error(ErrorCode::NotFound, "the program \"" + request.rule->program +
                                          "\" of this endpoint is not here any more");
  }
  lifecycle::LaunchRequest launch;
  launch.program = *program;
  launch.tenant = request.caller->tenant;
  launch.caller = request.caller;
  launch.arguments = request.rule->arguments;
  launch.environment = limits_.environments.of(launch.tenant, programs_.is_operators(digest));
  const auto own = limits_.tenant_instances.find(launch.tenant);
  launch.limits = own != limits_.tenant_instances.end() ? own->second : limits_.instance;
  launch.request = hostcalls::RequestHead{std::move(request.method), std::move(request.target),
                                          std::move(request.lines), request.awaits_continue};
  const control::TenantId tenant = launch.tenant;
  const std::uint64_t memory_bytes_max = launch.limits.memory_bytes_max;
  Result<lifecycle::InstanceId> launched = parts_.manager.launch(std::move(launch), *this);
  // The status is 429 if the caller has too much, and 503 if the server has.
  const bool is_callers = !launched.ok() && launched.error().code() == ErrorCode::Unavailable &&
                          !parts_.manager.has_tenant_room(tenant, memory_bytes_max);
  if (!is_callers) return launched;
  return Error(ErrorCode::QuotaExceeded, std::string(launched.error().message()));
}

void EndpointDesk::request(Caller& caller, HttpRequest& request, std::uint64_t bytes) {
  QUIRE_CHECK(caller.exchange == nullptr, "a connection sends the next request after the response");
  const std::uint64_t begun_ns = parts_.clock.now_ns();
  const std::string method = request.method;
  const std::string path = request.target.substr(0, request.target.find('?'));
  const RequestName name{path, request.request_id};
  const auto refuse = [&](const Error& error, std::uint64_t retry_after_ms) {
    ++counts_.refused;
    count(*request.rule, RequestOutcome::Refused);
    HttpAnswer answer = refusal_of(name, error, retry_after_ms);
    if (parts_.tells_requests) {
      const auto tenant = static_cast<std::uint32_t>(request.caller->tenant);
      LogFields fields = {{"request_id", name.request_id},
                          {"method", method},
                          {"path", path},
                          {"status", std::uint64_t{answer.status}},
                          {"error", std::string(error.message())},
                          {"tenant", std::uint64_t{tenant}}};
      add_key_name(fields, request.caller->key_name);
      parts_.tell({"request_refused", Severity::Warning, "", std::move(fields)});
    }
    outlet_.push(caller.peer, std::move(answer), bytes);
  };
  if (const auto late =
          rates_.take(request.caller->tenant, access::TenantRates::Use::Request, begun_ns)) {
    refuse(late->error, late->retry_after_ms);
    return;
  }
  const Result<lifecycle::InstanceId> id = launch(request);
  if (!id.ok()) {
    refuse(id.error(), parts_.manager.retry_after_ms());
    return;
  }
  ++counts_.launched;
  ++counts_.open;
  auto exchange = std::make_unique<Exchange>();
  exchange->id = id.value();
  exchange->number = parts_.manager.numbers().of(id.value());
  exchange->method = method;
  exchange->path = path;
  exchange->request_id = request.request_id;
  exchange->rule = request.rule;
  exchange->tenant = request.caller->tenant;
  exchange->key_name = request.caller->key_name;
  exchange->begun_ns = begun_ns;
  exchange->caller = &caller;
  caller.exchange = exchange.get();
  exchanges_.emplace(id.value(), std::move(exchange));
  if (!request.body.empty() || request.is_body_whole) {
    parts_.manager.push_request_body(id.value(), std::move(request.body), request.is_body_whole);
  }
  if (!request.is_body_whole) reading_.insert(caller.peer.connection->id);
  outlet_.push_control({caller.peer.connection, Parked{}, 0, bytes});
}

void EndpointDesk::body_part(Caller& caller, HttpBodyPart& part, std::uint64_t bytes) {
  if (forms_.has(caller.peer.connection->id)) {
    forms_.body_part(caller.peer, part, bytes);
    return;
  }
  if (caller.exchange != nullptr) {
    parts_.manager.push_request_body(caller.exchange->id, std::move(part.bytes), part.is_last);
    if (!part.is_last) reading_.insert(caller.peer.connection->id);
  }
  outlet_.push_control({caller.peer.connection, Parked{}, 0, bytes});
}

void EndpointDesk::gone(const ConnectionHandle& connection) {
  const auto found = callers_.find(connection->id);
  QUIRE_CHECK(found != callers_.end(), "takes() has looked");
  forms_.gone(connection->id);
  if (Exchange* exchange = found->second->exchange) {
    ++counts_.abandoned;
    exchange->is_left = true;
    part(*exchange, RequestOutcome::Abandoned);
    parts_.manager.request_client_gone(exchange->id);
    parts_.manager.client_ready(exchange->id);
  }
  callers_.erase(found);
  outlet_.push_control({connection, Forget{}, 0, std::nullopt});
}

void EndpointDesk::count(const EndpointRule& rule, RequestOutcome outcome) {
  ++figures_.counts[&rule][static_cast<std::size_t>(outcome)];
}

void EndpointDesk::part(Exchange& exchange, RequestOutcome outcome) {
  if (exchange.caller == nullptr) return;
  count(*exchange.rule, outcome);
  exchange.outcome = outcome;
  exchange.response_ns = parts_.clock.now_ns() - exchange.begun_ns;
  figures_.request_ns.observe(exchange.response_ns);
  const ConnectionId id = exchange.caller->peer.connection->id;
  reading_.erase(id);
  refusing_.forget(id);
  exchange.caller->exchange = nullptr;
  exchange.caller = nullptr;
  --counts_.open;
}

// ---- What is due.

bool EndpointDesk::turn() {
  // Programs that logged an error and went on.
  while (!holding_.empty()) tell_held(*exchanges_.at(*holding_.begin()));
  const bool any = ask_for_parts();
  return offer_again() || any;
}

bool EndpointDesk::ask_for_parts() {
  bool any = false;
  for (auto at = reading_.begin(); at != reading_.end();) {
    Caller& caller = *callers_.at(*at);
    if (!parts_.manager.wants_request_body(caller.exchange->id)) {
      ++at;
      continue;
    }
    outlet_.push(caller.peer, HttpAsk{});
    at = reading_.erase(at);
    any = true;
  }
  return any;
}

bool EndpointDesk::offer_again() {
  return refusing_.offer_again(
      [this](ConnectionId id) -> Peer& { return callers_.at(id)->peer; },
      [this](ConnectionId id) { parts_.manager.client_ready(callers_.at(id)->exchange->id); });
}

// ---- What instances say.

bool EndpointDesk::may_push(Exchange& exchange) {
  return refusing_.may_push(exchange.caller->peer);
}

bool EndpointDesk::heard(lifecycle::InstanceId id, const service::Said& said) {
  const auto found = exchanges_.find(id);
  QUIRE_CHECK(found != exchanges_.end(), "ED1");
  Exchange& exchange = *found->second;
  if (exchange.caller != nullptr && !exchange.is_discarded && !may_push(exchange)) return false;
  std::visit([&](const auto& each) { hear(exchange, each); }, said);
  if (std::holds_alternative<service::Ended>(said)) exchanges_.erase(found);
  return true;
}

void EndpointDesk::hear(Exchange& exchange, const service::ResponsePart& said) {
  if (exchange.caller == nullptr) return;
  Peer& peer = exchange.caller->peer;
  switch (said.kind) {
    case service::ResponsePartKind::Head:
      exchange.has_begun = true;
      exchange.status = said.status;
      outlet_.push(peer, HttpResponseHead{said.status, std::string(said.bytes)});
      break;
    case service::ResponsePartKind::Bytes:
      if (exchange.first_byte_ns == 0) {  // At least 1, because 0 says that there was none.
        exchange.first_byte_ns =
            std::max<std::uint64_t>(parts_.clock.now_ns() - exchange.begun_ns, 1);
        figures_.first_byte_ns.observe(exchange.first_byte_ns);
      }
      outlet_.push(peer, HttpResponsePart{std::string(said.bytes)});
      break;
    case service::ResponsePartKind::End:
      outlet_.push(peer, HttpResponseEnd{true});
      part(exchange, outcome_of_status(exchange.status));
      break;
  }
}

void EndpointDesk::hear(Exchange& exchange, const service::LogLine& said) {
  if (exchange.told_line_count > kToldLineCountMax) return;
  if (exchange.told_line_count++ == kToldLineCountMax) {
    tell_held(exchange);
    parts_.tell({"program_log", severity_of(said.level),
                 exchange.label() + ": the program logs more, which is not shown",
                 exchange.place()});
    return;
  }
  if (said.source == service::LogSource::Log && said.level == service::LogLevel::Error) {
    exchange.held_errors.add(std::string(said.text));
    holding_.insert(exchange.id);
    return;
  }
  tell_held(exchange);
  tell_line(exchange, severity_of(said.level), said.text);
}

void EndpointDesk::tell_line(const Exchange& exchange, Severity severity, std::string_view line) {
  std::string text(line.substr(0, kToldLineBytesMax));
  LogFields fields = exchange.place();
  fields.emplace_back("text", text);
  parts_.tell({"program_log", severity, exchange.label() + ": " + text, std::move(fields)});
}

void EndpointDesk::tell_held(Exchange& exchange, std::string_view reason) {
  for (const std::string& line : exchange.held_errors.take_before(reason)) {
    tell_line(exchange, Severity::Error, line);
  }
  holding_.erase(exchange.id);
}

void EndpointDesk::hear(Exchange& exchange, const service::Ended& said) {
  const service::End& end = said.end;
  const bool is_well = end.kind == service::EndKind::Finished && end.exit_code == 0;
  const bool is_stopped_for_client = exchange.is_left && end.kind == service::EndKind::Killed;
  if (exchange.caller != nullptr && exchange.has_begun) {
    outlet_.push(exchange.caller->peer, HttpResponseEnd{false});
    part(exchange, RequestOutcome::Broken);
  } else if (exchange.caller != nullptr) {
    HttpAnswer answer = failure_for({exchange.path, exchange.request_id}, end, parts_.shows_errors);
    exchange.status = answer.status;
    outlet_.push(exchange.caller->peer, std::move(answer));
    part(exchange, RequestOutcome::ServerError);
  }
  tell_held(exchange, is_well ? "" : end.message);
  std::string text;
  if (!is_well && !is_stopped_for_client) {
    text = exchange.label() + ": " + end_kind_name(end.kind) + ", exit code " +
           std::to_string(end.exit_code) +
           (end.message.empty() ? "" : ": " + printable_lines(end.message));
  }
  if (!text.empty() || parts_.tells_requests) {
    const auto& used = parts_.manager.figures_at_end(exchange.id).statistics;
    const Severity severity = text.empty() ? Severity::Info : Severity::Warning;
    parts_.tell({"request", severity, std::move(text), request_fields(exchange, end, used)});
  }
}

// ---- The end.

void EndpointDesk::stop_all(const char* reason) {
  for (const auto& [id, exchange] : exchanges_) {
    if (!parts_.manager.has_ended(id)) {
      QUIRE_CHECK(parts_.manager.kill(id, reason).ok(), "it has not ended");
    }
  }
}

// Clients had their time to take what is left.
void EndpointDesk::discard_all() {
  for (const auto& [id, exchange] : exchanges_) {
    part(*exchange, RequestOutcome::Abandoned);
    exchange->is_discarded = true;
    parts_.manager.client_ready(id);
  }
}

// ---- For tests.

EndpointDesk::Counts EndpointDesk::counts() const {
  return {callers_.size(), exchanges_.size()};
}

void EndpointDesk::verify() const {
  std::uint64_t answered = 0;
  for (const auto& [id, exchange] : exchanges_) {
    QUIRE_CHECK(exchange->id == id, "ED1");
    if (exchange->caller == nullptr) continue;
    ++answered;
    QUIRE_CHECK(exchange->caller->exchange == exchange.get(), "ED1");
  }
  QUIRE_CHECK(answered == counts_.open, "ED3");
  for (const auto& [id, caller] : callers_) answered -= caller->exchange != nullptr ? 1 : 0;
  QUIRE_CHECK(answered == 0, "ED1");
  for (const std::set<ConnectionId>* all : {&reading_, &refusing_.connections()}) {
    for (const ConnectionId each : *all) QUIRE_CHECK(callers_.at(each)->exchange != nullptr, "ED2");
  }
}

}  // namespace quire::server
