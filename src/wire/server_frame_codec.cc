// Replies and events: a writer and a reader for each.
#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/utf8.h"
#include "wire/fields.h"

namespace quire::wire {
namespace {

constexpr std::uint64_t kModelCountMax = 256;
constexpr std::uint64_t kInstanceCountMax = 1u << 16;
constexpr std::uint64_t kMessageBytesMax = kTextFrameBytesMax;  // Of an error.

// A list of adapters fits a frame: a path has up to six bytes of JSON for each of its own.
static_assert(kListedAdapterCountMax * (6 * (kAdapterPathBytesMax + 2 * kNameBytesMax) + 300) <
              kTextFrameBytesMax);

constexpr const char* kProgramStates[] = {"unknown", "partial", "compiling", "ready"};
constexpr const char* kLogSources[] = {"log", "stdout", "stderr"};
constexpr const char* kLogLevels[] = {"debug", "info", "warning", "error"};
constexpr const char* kEndKinds[] = {"finished", "trapped", "limit-exceeded", "killed",
                                     "not-started"};

// The counts of a status, under the names that they have on the wire.
struct StatusCount {
  const char* name;
  std::uint64_t StatusReply::* value;
};
constexpr StatusCount kStatusCounts[] = {
    {"uptime_ms", &StatusReply::uptime_ms},
    {"connection_count", &StatusReply::connection_count},
    {"instance_count", &StatusReply::instance_count},
    {"instance_count_max", &StatusReply::instance_count_max},
    {"waiting_count", &StatusReply::waiting_count},
    {"unattached_count", &StatusReply::unattached_count},
    {"program_count", &StatusReply::program_count},
    {"launched_count", &StatusReply::launched_count},
    {"refused_count", &StatusReply::refused_count},
    {"page_count", &StatusReply::page_count},
    {"page_count_free", &StatusReply::page_count_free},
    {"computed_token_count", &StatusReply::computed_token_count},
    {"found_token_count", &StatusReply::found_token_count},
    {"batch_count", &StatusReply::batch_count},
};
struct EndCount {
  const char* name;
  std::uint64_t service::End::* value;
};
constexpr EndCount kEndCounts[] = {
    {"duration_ns", &service::End::duration_ns},
    {"first_message_ns", &service::End::first_message_ns},
    {"first_token_ns", &service::End::first_token_ns},
    {"cpu_ns", &service::End::cpu_ns},
    {"asked_token_count", &service::End::asked_token_count},
    {"computed_token_count", &service::End::computed_token_count},
    {"found_token_count", &service::End::found_token_count},
    {"page_count_max", &service::End::page_count_max},
    {"opened_token_count", &service::End::opened_token_count},
    {"children_asked_token_count", &service::End::children_asked_token_count},
    {"children_computed_token_count", &service::End::children_computed_token_count},
    {"children_found_token_count", &service::End::children_found_token_count},
    {"children_opened_token_count", &service::End::children_opened_token_count},
};
// Ends of older servers are without these.
constexpr std::string_view kLaterEndCounts[] = {
    "first_token_ns",
    "opened_token_count",
    "children_asked_token_count",
    "children_computed_token_count",
    "children_found_token_count",
    "children_opened_token_count",
};

template <typename Enum, std::size_t kCount>
const char* name_of(Enum value, const char* const (&names)[kCount]) {
  return names[static_cast<std::size_t>(value)];
}

// ---- Writers.

void put(OrderedJson& json, const InstanceReply& instance) {
  json["instance"] = instance.instance;
  json["name"] = instance.name;
  json["program"] = program_text({instance.program, {}});
  json["detached"] = instance.detached;
}

// name: [used, maximum], or [used].
OrderedJson figures_json(const Figures& figures) {
  OrderedJson json = OrderedJson::object();
  for (const auto& [name, figure] : figures) {
    OrderedJson values = OrderedJson::array({figure.used});
    if (figure.maximum) values.push_back(*figure.maximum);
    json[name] = std::move(values);
  }
  return json;
}

OrderedJson detail_json(const StatusDetail& detail) {
  OrderedJson tenants = OrderedJson::array();
  for (const TenantStatus& each : detail.tenants) {
    tenants.push_back({{"tenant", each.tenant},
                       {"weight", each.weight},
                       {"figures", figures_json(each.figures)}});
  }
  OrderedJson instances = OrderedJson::array();
  for (const InstanceStatus& each : detail.instances) {
    instances.push_back({{"instance", each.instance},
                         {"tenant", each.tenant},
                         {"parent", each.parent},
                         {"program", program_text({each.program, {}})},
                         {"stage", each.stage},
                         {"figures", figures_json(each.figures)},
                         {"client", each.client},
                         {"program_name", each.program_name}});
  }
  OrderedJson programs = OrderedJson::array();
  for (const NamedProgram& each : detail.programs) {
    programs.push_back({{"name", each.name}, {"program", program_text({each.program, {}})}});
  }
  return {{"figures", figures_json(detail.figures)},
          {"tenants", std::move(tenants)},
          {"instances", std::move(instances)},
          {"left_out_count", detail.left_out_count},
          {"programs", std::move(programs)},
          {"left_out_program_count", detail.left_out_program_count}};
}

void put(OrderedJson& json, const AdapterStatus& adapter) {
  json["name"] = adapter.name;
  json["model"] = adapter.model;
  json["digest"] = program_text({adapter.digest, {}});
  json["rank_max"] = adapter.rank_max;
  json["parameter_count"] = adapter.parameter_count;
  json["bytes"] = adapter.bytes;
  json["source"] = adapter.source;
  json["own"] = adapter.is_own;
  json["in_use"] = adapter.is_in_use;
}

struct ReplyWriter {
  std::uint64_t id;

  OrderedJson head(const char* reply) const { return {{"reply", reply}, {"id", id}}; }

  OrderedJson operator()(const Done&) const { return head("done"); }
  OrderedJson operator()(const Failure& failure) const {
    OrderedJson json = head("error");
    json["code"] = error_code_name(failure.code);
    json["message"] = failure.message;
    if (failure.retry_after_ms) json["retry_after_ms"] = *failure.retry_after_ms;
    return json;
  }
  OrderedJson operator()(const ProgramReply& reply) const {
    OrderedJson json = head("program");
    if (reply.program) json["program"] = program_text({reply.program, {}});
    json["state"] = name_of(reply.state, kProgramStates);
    json["received_bytes"] = reply.received_bytes;
    return json;
  }
  OrderedJson operator()(const InstanceReply& reply) const {
    OrderedJson json = head("instance");
    put(json, reply);
    return json;
  }
  OrderedJson operator()(const InstanceList& list) const {
    OrderedJson json = head("instances");
    json["instances"] = OrderedJson::array();
    for (const InstanceReply& each : list.instances) {
      OrderedJson instance;
      put(instance, each);
      json["instances"].push_back(std::move(instance));
    }
    json["left_out_count"] = list.left_out_count;
    return json;
  }
  OrderedJson operator()(const StatusReply& status) const {
    OrderedJson json = head("status");
    json["version"] = status.version;
    json["models"] = status.models;
    for (const StatusCount& each : kStatusCounts) json[each.name] = status.*each.value;
    if (status.detail) json["detail"] = detail_json(*status.detail);
    return json;
  }
  OrderedJson operator()(const AdapterReply& reply) const {
    OrderedJson json = head("adapter");
    put(json, reply.adapter);
    return json;
  }
  OrderedJson operator()(const AdapterList& list) const {
    OrderedJson json = head("adapters");
    json["adapters"] = OrderedJson::array();
    for (const AdapterStatus& each : list.adapters) {
      OrderedJson adapter;
      put(adapter, each);
      json["adapters"].push_back(std::move(adapter));
    }
    json["left_out_count"] = list.left_out_count;
    return json;
  }
};

// Each launch has this reply, hundreds at once, so it is written without the JSON library. A name
// with quotes, backslashes, control characters or non-ASCII characters takes the slow way.
Message instance_reply(std::uint64_t id, const InstanceReply& instance) {
  const bool is_plain = std::all_of(instance.name.begin(), instance.name.end(), [](char each) {
    return each >= 0x20 && each < 0x7f && each != '"' && each != '\\';
  });
  if (!is_plain) return text_message(ReplyWriter{id}(instance));
  return {false, R"({"reply":"instance","id":)" + std::to_string(id) + R"(,"instance":)" +
                     std::to_string(instance.instance) + R"(,"name":")" + instance.name +
                     R"(","program":")" + program_text({instance.program, {}}) +
                     R"(","detached":)" + (instance.detached ? "true" : "false") + "}"};
}

struct FrameWriter {
  OrderedJson head(const char* event, std::uint64_t instance) const {
    return {{"event", event}, {"instance", instance}};
  }

  Message operator()(const Reply& reply) const {
    if (const auto* instance = std::get_if<InstanceReply>(&reply.body)) {
      return instance_reply(reply.id, *instance);
    }
    return text_message(std::visit(ReplyWriter{reply.id}, reply.body));
  }
  // One for each piece of text that a model writes: by hand, 20 times as quick.
  Message operator()(const MessageEvent& event) const {
    return framed(R"({"event":"message","instance":)" + std::to_string(event.instance) + "}",
                  event.bytes);
  }
  Message operator()(const LogEvent& event) const {
    OrderedJson json = head("log", event.instance);
    json["source"] = name_of(event.source, kLogSources);
    json["level"] = name_of(event.level, kLogLevels);
    json["line"] = event.line;
    return text_message(json);
  }
  Message operator()(const FileEvent& event) const {
    OrderedJson json = head("file", event.instance);
    json["file"] = event.file;
    json["name"] = event.part.name;
    json["media_type"] = event.part.media_type;
    json["file_bytes"] = event.part.file_bytes;
    json["offset"] = event.part.offset;
    return binary_message(json, event.part.bytes);
  }
  Message operator()(const FileDroppedEvent& event) const {
    OrderedJson json = head("file_dropped", event.instance);
    json["file"] = event.file;
    return text_message(json);
  }
  Message operator()(const DetachedEvent& event) const {
    OrderedJson json = head("detached", event.instance);
    json["message"] = event.message;
    return text_message(json);
  }
  Message operator()(const EndedEvent& event) const {
    OrderedJson json = head("ended", event.instance);
    const service::End& end = event.end;
    json["end"] = name_of(end.kind, kEndKinds);
    json["exit_code"] = end.exit_code;
    json["message"] = end.message;
    json["limit"] = end.limit;
    for (const EndCount& each : kEndCounts) json[each.name] = end.*each.value;
    return binary_message(json, end.result);
  }
  Message operator()(const ShutdownEvent& event) const {
    return text_message({{"event", "shutdown"}, {"grace_ms", event.grace_ms}});
  }
  Message operator()(const ErrorEvent& event) const {
    return text_message(
        {{"event", "error"}, {"code", error_code_name(event.code)}, {"message", event.message}});
  }
};

// ---- Readers.

Result<ErrorCode> read_code(Fields& fields) {
  const std::string name = TRY(fields.text("code", kNameBytesMax));
  for (int number = 1; number <= static_cast<int>(ErrorCode::Corrupted); ++number) {
    const auto code = static_cast<ErrorCode>(number);
    if (name != "unknown" && name == error_code_name(code)) return code;
  }
  return fields.wrong("code", "is " + in_quotes(name) + ", no error code");
}

Result<InstanceReply> read_one_instance(Fields& fields) {
  InstanceReply reply;
  reply.instance = TRY(fields.number("instance", 1));
  reply.name = TRY(fields.text("name", kNameBytesMax));
  reply.program = TRY(fields.digest("program"));
  reply.detached = TRY(fields.find_flag("detached"));
  return reply;
}

Result<ReplyBody> read_done(Fields&) {
  return ReplyBody(Done{});
}

Result<ReplyBody> read_failure(Fields& fields) {
  Failure failure;
  failure.code = TRY(read_code(fields));
  failure.message = TRY(fields.text("message", kMessageBytesMax));
  failure.retry_after_ms = TRY(fields.find_number("retry_after_ms"));
  return ReplyBody(std::move(failure));
}

Result<ReplyBody> read_program_reply(Fields& fields) {
  ProgramReply reply;
  reply.state = static_cast<ProgramState>(TRY(fields.choice("state", kProgramStates)));
  if (fields.has("program")) reply.program = TRY(fields.digest("program"));
  reply.received_bytes = TRY(fields.number("received_bytes"));
  return ReplyBody(std::move(reply));
}

Result<ReplyBody> read_instance_reply(Fields& fields) {
  return ReplyBody(TRY(read_one_instance(fields)));
}

Result<ReplyBody> read_instances(Fields& fields) {
  const Json* array = TRY(fields.array("instances", kInstanceCountMax));
  InstanceList list;
  for (const Json& each : *array) {
    if (!each.is_object()) return fields.wrong("instances", "has an entry that is not an object");
    Fields instance(each, "instances");
    list.instances.push_back(TRY(read_one_instance(instance)));
  }
  // An earlier server lists all.
  const std::optional<std::uint64_t> left_out = TRY(fields.find_number("left_out_count"));
  list.left_out_count = left_out.value_or(0);
  return ReplyBody(std::move(list));
}

Result<Figures> read_figures(Fields& fields) {
  const Json* object = TRY(fields.find_object("figures"));
  if (object == nullptr) return fields.wrong("figures", "is missing");
  if (object->size() > kFigureCountMax) return fields.wrong("figures", "are too many");
  Figures figures;
  for (const auto& [name, values] : object->items()) {
    const bool is_list = values.is_array() && !values.empty() && values.size() <= 2;
    for (std::size_t i = 0; is_list && i < values.size(); ++i) {
      if (!values[i].is_number_unsigned() || values[i].get<std::uint64_t>() > kNumberMax) {
        return fields.wrong("figures",
                            "of " + in_quotes(name) + ": expected counts of at most 2^53 - 1");
      }
    }
    if (!is_list) {
      return fields.wrong("figures",
                          "of " + in_quotes(name) + ": expected [used] or [used, maximum]");
    }
    Figure& figure = figures[name];
    figure.used = values[0].get<std::uint64_t>();
    if (values.size() > 1) figure.maximum = values[1].get<std::uint64_t>();
  }
  return figures;
}

Result<TenantStatus> read_tenant_status(Fields& fields) {
  TenantStatus status;
  status.tenant = TRY(fields.number("tenant"));
  status.weight = TRY(fields.number("weight", 1));
  status.figures = TRY(read_figures(fields));
  return status;
}

Result<InstanceStatus> read_instance_status(Fields& fields) {
  InstanceStatus status;
  status.instance = TRY(fields.number("instance", 1));
  status.tenant = TRY(fields.number("tenant"));
  status.parent = TRY(fields.number("parent"));
  status.program = TRY(fields.digest("program"));
  status.stage = TRY(fields.text("stage", kNameBytesMax));
  status.figures = TRY(read_figures(fields));
  // An older server has neither.
  if (fields.has("client")) status.client = TRY(fields.text("client", kNameBytesMax));
  if (fields.has("program_name")) {
    status.program_name = TRY(fields.text("program_name", kNameBytesMax));
  }
  return status;
}

Result<NamedProgram> read_named_program(Fields& fields) {
  NamedProgram program;
  program.name = TRY(fields.text("name", kNameBytesMax));
  program.program = TRY(fields.digest("program"));
  return program;
}

template <typename T>
Result<std::vector<T>> read_all(Fields& fields, const char* key, std::uint32_t count_max,
                                Result<T> (*read)(Fields& fields)) {
  const Json* array = TRY(fields.array(key, count_max));
  std::vector<T> all;
  for (const Json& each : *array) {
    if (!each.is_object()) return fields.wrong(key, "has an entry that is not an object");
    Fields members(each, key);
    all.push_back(TRY(read(members)));
  }
  return all;
}

Result<StatusDetail> read_detail(const Json& json) {
  Fields fields(json, "status: \"detail\"");
  StatusDetail detail;
  detail.figures = TRY(read_figures(fields));
  detail.tenants = TRY(read_all(fields, "tenants", kToldTenantCountMax, read_tenant_status));
  detail.instances =
      TRY(read_all(fields, "instances", kToldInstanceCountMax, read_instance_status));
  detail.left_out_count = TRY(fields.number("left_out_count"));
  if (!fields.has("programs")) return detail;  // An older server.
  detail.programs = TRY(read_all(fields, "programs", kToldProgramCountMax, read_named_program));
  detail.left_out_program_count = TRY(fields.number("left_out_program_count"));
  return detail;
}

Result<ReplyBody> read_status(Fields& fields) {
  StatusReply status;
  status.version = TRY(fields.text("version", kNameBytesMax));
  status.models = TRY(fields.texts("models", kModelCountMax));
  for (const StatusCount& each : kStatusCounts) status.*each.value = TRY(fields.number(each.name));
  const Json* detail = TRY(fields.find_object("detail"));
  if (detail != nullptr) status.detail = TRY(read_detail(*detail));
  return ReplyBody(std::move(status));
}

Result<AdapterStatus> read_adapter_status(Fields& fields) {
  AdapterStatus adapter;
  adapter.name = TRY(fields.text("name", kNameBytesMax));
  adapter.model = TRY(fields.text("model", kNameBytesMax));
  adapter.digest = TRY(fields.digest("digest"));
  adapter.rank_max = TRY(fields.number("rank_max"));
  adapter.parameter_count = TRY(fields.number("parameter_count"));
  adapter.bytes = TRY(fields.number("bytes"));
  adapter.source = TRY(fields.text("source", kAdapterPathBytesMax));
  adapter.is_own = TRY(fields.find_flag("own"));
  adapter.is_in_use = TRY(fields.find_flag("in_use"));
  return adapter;
}

Result<ReplyBody> read_adapter_reply(Fields& fields) {
  return ReplyBody(AdapterReply{TRY(read_adapter_status(fields))});
}

Result<ReplyBody> read_adapters(Fields& fields) {
  AdapterList list;
  list.adapters = TRY(read_all(fields, "adapters", kListedAdapterCountMax, read_adapter_status));
  list.left_out_count = TRY(fields.number("left_out_count"));
  return ReplyBody(std::move(list));
}

Result<ServerFrame> read_message(Fields& fields, std::string_view payload) {
  return ServerFrame(MessageEvent{TRY(fields.number("instance", 1)), std::string(payload)});
}

Result<ServerFrame> read_log(Fields& fields, std::string_view) {
  LogEvent event;
  event.instance = TRY(fields.number("instance", 1));
  event.source = static_cast<LogSource>(TRY(fields.choice("source", kLogSources)));
  event.level = static_cast<LogLevel>(TRY(fields.choice("level", kLogLevels)));
  event.line = TRY(fields.text("line", kTextFrameBytesMax));
  return ServerFrame(std::move(event));
}

Result<ServerFrame> read_file(Fields& fields, std::string_view payload) {
  FileEvent event;
  event.instance = TRY(fields.number("instance", 1));
  event.file = TRY(fields.number("file", 1));
  event.part = TRY(read_file_part(fields, payload));
  return ServerFrame(std::move(event));
}

Result<ServerFrame> read_file_dropped(Fields& fields, std::string_view) {
  const std::uint64_t instance = TRY(fields.number("instance", 1));
  return ServerFrame(FileDroppedEvent{instance, TRY(fields.number("file", 1))});
}

Result<ServerFrame> read_detached(Fields& fields, std::string_view) {
  const std::uint64_t instance = TRY(fields.number("instance", 1));
  return ServerFrame(DetachedEvent{instance, TRY(fields.text("message", kMessageBytesMax))});
}

Result<ServerFrame> read_ended(Fields& fields, std::string_view payload) {
  EndedEvent event;
  event.instance = TRY(fields.number("instance", 1));
  service::End& end = event.end;
  end.kind = static_cast<EndKind>(TRY(fields.choice("end", kEndKinds)));
  end.exit_code = TRY(fields.signed_number("exit_code"));
  end.message = TRY(fields.text("message", kMessageBytesMax));
  end.limit = TRY(fields.text("limit", kNameBytesMax));
  end.result = payload;
  for (const EndCount& each : kEndCounts) {
    const bool is_optional = std::ranges::count(kLaterEndCounts, each.name) > 0;
    if (is_optional && !fields.has(each.name)) continue;
    end.*each.value = TRY(fields.number(each.name));
  }
  return ServerFrame(std::move(event));
}

Result<ServerFrame> read_shutdown(Fields& fields, std::string_view) {
  return ServerFrame(ShutdownEvent{TRY(fields.number("grace_ms"))});
}

Result<ServerFrame> read_error(Fields& fields, std::string_view) {
  ErrorEvent event;
  event.code = TRY(read_code(fields));
  event.message = TRY(fields.text("message", kMessageBytesMax));
  return ServerFrame(std::move(event));
}

struct ReplyKind {
  const char* name;
  Result<ReplyBody> (*read)(Fields& fields);
};
constexpr ReplyKind kReplies[] = {
    {"done", read_done},
    {"error", read_failure},
    {"program", read_program_reply},
    {"instance", read_instance_reply},
    {"instances", read_instances},
    {"status", read_status},
    {"adapter", read_adapter_reply},
    {"adapters", read_adapters},
};

struct EventKind {
  const char* name;
  bool has_bytes;
  Result<ServerFrame> (*read)(Fields& fields, std::string_view payload);
};
constexpr EventKind kEvents[] = {
    {"message", true, read_message},    {"log", false, read_log},
    {"file", true, read_file},          {"file_dropped", false, read_file_dropped},
    {"detached", false, read_detached}, {"ended", true, read_ended},
    {"shutdown", false, read_shutdown}, {"error", false, read_error},
};

template <typename Kind, std::size_t kCount>
constexpr std::array<const char*, kCount> names_of(const Kind (&kinds)[kCount]) {
  std::array<const char*, kCount> names{};
  for (std::size_t i = 0; i < kCount; ++i) names[i] = kinds[i].name;
  return names;
}
constexpr auto kReplyNames = names_of(kReplies);
constexpr auto kEventNames = names_of(kEvents);

Error wrong_kind(const char* name, bool has_bytes) {
  return Error(ErrorCode::InvalidArgument,
               std::string(name) + " came as a " + (has_bytes ? "text" : "binary") + " frame");
}

}  // namespace

Message encode(const ServerFrame& frame) {
  return std::visit(FrameWriter{}, frame);
}

Result<ServerFrame> decode_server_frame(bool is_binary, std::string_view bytes) {
  const FrameParts parts = TRY(take_apart(is_binary, bytes));
  TRY(check_payload(parts));
  Fields fields(parts.header, "frame");
  if (fields.has("reply")) {
    const ReplyKind& kind = kReplies[TRY(fields.choice("reply", kReplyNames))];
    if (is_binary) return wrong_kind(kind.name, false);
    Reply reply;
    reply.id = TRY(fields.number("id", 1));
    reply.body = TRY(kind.read(fields));
    return ServerFrame(std::move(reply));
  }
  const EventKind& kind = kEvents[TRY(fields.choice("event", kEventNames))];
  if (kind.has_bytes != is_binary) return wrong_kind(kind.name, kind.has_bytes);
  return kind.read(fields, parts.payload);
}

}  // namespace quire::wire
