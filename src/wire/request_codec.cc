// Requests: a writer and a reader for each verb.
#include <array>
#include <utility>

#include "base/guest_name.h"
#include "base/utf8.h"
#include "wire/fields.h"

namespace quire::wire {
namespace {

constexpr char kDigestPrefix[] = "sha256:";
constexpr std::uint64_t kTenantMax = UINT32_MAX;

struct Writer {
  std::uint64_t id;

  OrderedJson head(const char* verb) const { return {{"verb", verb}, {"id", id}}; }
  Message of_instance(const char* verb, std::uint64_t instance) const {
    OrderedJson json = head(verb);
    json["instance"] = instance;
    return text_message(json);
  }

  Message operator()(const FindProgram& find) const {
    OrderedJson json = head("find_program");
    json["program"] = program_text(find.program);
    return text_message(json);
  }
  Message operator()(const Upload& upload) const {
    OrderedJson json = head("upload");
    json["program"] = program_text({upload.program, {}});
    json["program_bytes"] = upload.program_bytes;
    json["offset"] = upload.offset;
    return binary_message(json, upload.bytes);
  }
  Message operator()(const NameProgram& naming) const {
    OrderedJson json = head("name_program");
    json["program"] = program_text({naming.program, {}});
    json["name"] = naming.name;
    return text_message(json);
  }
  Message operator()(const Launch& launch) const {
    OrderedJson json = head("launch");
    json["program"] = program_text(launch.program);
    json["arguments"] = launch.arguments;
    OrderedJson limits = OrderedJson::object();
    const auto put = [&](const char* key, const std::optional<std::uint64_t>& value) {
      if (value) limits[key] = *value;
    };
    put("memory_bytes_max", launch.limits.memory_bytes_max);
    put("cpu_ns_max", launch.limits.cpu_ns_max);
    put("cpu_ns_between_waits_max", launch.limits.cpu_ns_between_waits_max);
    put("page_count_max", launch.limits.page_count_max);
    put("output_bytes_max", launch.limits.output_bytes_max);
    if (!limits.empty()) json["limits"] = std::move(limits);
    if (launch.detached) json["detached"] = true;
    if (launch.tenant > 0) json["tenant"] = launch.tenant;
    if (launch.deadline_ms) json["deadline_ms"] = *launch.deadline_ms;
    if (launch.seed) json["seed"] = *launch.seed;
    if (!launch.attached) json["attach"] = false;
    return text_message(json);
  }
  Message operator()(const Send& send) const {
    OrderedJson json = head("send");
    json["instance"] = send.instance;
    return binary_message(json, send.bytes);
  }
  Message operator()(const CloseInput& close) const {
    return of_instance("close_input", close.instance);
  }
  Message operator()(const SendFile& file) const {
    OrderedJson json = head("send_file");
    json["instance"] = file.instance;
    json["name"] = file.part.name;
    json["media_type"] = file.part.media_type;
    json["file_bytes"] = file.part.file_bytes;
    json["offset"] = file.part.offset;
    return binary_message(json, file.part.bytes);
  }
  Message operator()(const Attach& attach) const {
    OrderedJson json = head("attach");
    if (attach.instance > 0) {
      json["instance"] = attach.instance;
    } else {
      json["name"] = attach.name;
    }
    if (attach.takes) json["take"] = true;
    return text_message(json);
  }
  Message operator()(const Detach& detach) const { return of_instance("detach", detach.instance); }
  Message operator()(const Abort& abort) const { return of_instance("abort", abort.instance); }
  Message operator()(const List&) const { return text_message(head("list")); }
  Message operator()(const Status& status) const {
    OrderedJson json = head("status");
    if (status.detail) json["detail"] = true;
    return text_message(json);
  }
  Message operator()(const AddAdapter& add) const {
    OrderedJson json = head("add_adapter");
    json["name"] = add.name;
    json["path"] = add.path;
    return text_message(json);
  }
  Message operator()(const UploadAdapter& upload) const {
    OrderedJson json = head("upload_adapter");
    json["name"] = upload.name;
    json["files"] = OrderedJson::array();
    for (const UploadedFile& each : upload.files) {
      json["files"].push_back({{"name", each.name}, {"bytes", each.bytes}});
    }
    json["digest"] = program_text({upload.digest, {}});
    json["offset"] = upload.offset;
    return binary_message(json, upload.bytes);
  }
  Message operator()(const RemoveAdapter& remove) const {
    OrderedJson json = head("remove_adapter");
    json["name"] = remove.name;
    return text_message(json);
  }
  Message operator()(const ListAdapters&) const { return text_message(head("list_adapters")); }
};

Result<std::uint64_t> read_instance(Fields& fields) {
  return fields.number("instance", 1);
}

Result<ProgramName> read_program(Fields& fields) {
  const std::string text = TRY(fields.text("program", kNameBytesMax));
  Result<ProgramName> program = parse_program(text);
  if (!program.ok()) return fields.wrong("program", std::string(program.error().message()));
  return std::move(program).take();
}

Result<RequestBody> read_find_program(Fields& fields, std::string_view) {
  return RequestBody(FindProgram{TRY(read_program(fields))});
}

Result<RequestBody> read_upload(Fields& fields, std::string_view payload) {
  Upload upload;
  upload.program = TRY(fields.digest("program"));
  upload.program_bytes = TRY(fields.number("program_bytes", 1));
  upload.offset = TRY(fields.number("offset"));
  upload.bytes = payload;
  return RequestBody(std::move(upload));
}

Result<RequestBody> read_name_program(Fields& fields, std::string_view) {
  NameProgram naming;
  naming.program = TRY(fields.digest("program"));
  naming.name = TRY(fields.text("name", kNameBytesMax));
  const Result<ProgramName> name = parse_program(naming.name);
  if (!name.ok()) return fields.wrong("name", std::string(name.error().message()));
  if (name.value().digest) return fields.wrong("name", "names a content, which needs no name");
  return RequestBody(std::move(naming));
}

Result<LaunchLimits> read_limits(const Json& json) {
  Fields fields(json, "launch: \"limits\"");
  LaunchLimits limits;
  limits.memory_bytes_max = TRY(fields.find_number("memory_bytes_max", 1));
  limits.cpu_ns_max = TRY(fields.find_number("cpu_ns_max", 1));
  limits.cpu_ns_between_waits_max = TRY(fields.find_number("cpu_ns_between_waits_max", 1));
  limits.page_count_max = TRY(fields.find_number("page_count_max"));
  limits.output_bytes_max = TRY(fields.find_number("output_bytes_max"));
  TRY(fields.finish());
  return limits;
}

Result<RequestBody> read_launch(Fields& fields, std::string_view) {
  Launch launch;
  launch.program = TRY(read_program(fields));
  launch.arguments = TRY(fields.texts("arguments", kArgumentCountMax));
  const Json* limits = TRY(fields.find_object("limits"));
  if (limits != nullptr) launch.limits = TRY(read_limits(*limits));
  launch.detached = TRY(fields.find_flag("detached"));
  if (fields.has("tenant")) {
    launch.tenant = static_cast<std::uint32_t>(TRY(fields.number("tenant", 0, kTenantMax)));
  }
  launch.deadline_ms = TRY(fields.find_number("deadline_ms", 1));
  launch.seed = TRY(fields.find_number("seed"));
  if (fields.has("attach")) launch.attached = TRY(fields.find_flag("attach"));
  return RequestBody(std::move(launch));
}

Result<RequestBody> read_send(Fields& fields, std::string_view payload) {
  return RequestBody(Send{TRY(read_instance(fields)), std::string(payload)});
}

Result<RequestBody> read_close_input(Fields& fields, std::string_view) {
  return RequestBody(CloseInput{TRY(read_instance(fields))});
}

Result<RequestBody> read_send_file(Fields& fields, std::string_view payload) {
  SendFile file;
  file.instance = TRY(read_instance(fields));
  file.part = TRY(read_file_part(fields, payload));
  return RequestBody(std::move(file));
}

Result<RequestBody> read_attach(Fields& fields, std::string_view) {
  Attach attach;
  if (fields.has("instance")) {
    if (fields.has("name")) return fields.wrong("name", "is one too many beside \"instance\"");
    attach.instance = TRY(read_instance(fields));
  } else {
    attach.name = TRY(fields.text("name", kNameBytesMax));
  }
  attach.takes = TRY(fields.find_flag("take"));
  return RequestBody(std::move(attach));
}

Result<RequestBody> read_detach(Fields& fields, std::string_view) {
  return RequestBody(Detach{TRY(read_instance(fields))});
}

Result<RequestBody> read_abort(Fields& fields, std::string_view) {
  return RequestBody(Abort{TRY(read_instance(fields))});
}

Result<RequestBody> read_list(Fields&, std::string_view) {
  return RequestBody(List{});
}

Result<RequestBody> read_status(Fields& fields, std::string_view) {
  return RequestBody(Status{TRY(fields.find_flag("detail"))});
}

Result<RequestBody> read_add_adapter(Fields& fields, std::string_view) {
  AddAdapter add;
  add.name = TRY(fields.text("name", kNameBytesMax));
  add.path = TRY(fields.text("path", kAdapterPathBytesMax));
  return RequestBody(std::move(add));
}

Result<std::vector<UploadedFile>> read_adapter_files(Fields& fields) {
  const Json* array = TRY(fields.array("files", kAdapterFileCountMax));
  std::vector<UploadedFile> files;
  for (const Json& each : *array) {
    if (!each.is_object()) return fields.wrong("files", "has an entry that is not an object");
    Fields file(each, "upload_adapter: \"files\"");
    files.push_back({TRY(file.text("name", kNameBytesMax)), TRY(file.number("bytes", 1))});
    TRY(file.finish());
  }
  if (files.empty()) return fields.wrong("files", "is empty");
  return files;
}

Result<RequestBody> read_upload_adapter(Fields& fields, std::string_view payload) {
  UploadAdapter upload;
  upload.name = TRY(fields.text("name", kNameBytesMax));
  upload.files = TRY(read_adapter_files(fields));
  upload.digest = TRY(fields.digest("digest"));
  upload.offset = TRY(fields.number("offset"));
  upload.bytes = payload;
  return RequestBody(std::move(upload));
}

Result<RequestBody> read_remove_adapter(Fields& fields, std::string_view) {
  return RequestBody(RemoveAdapter{TRY(fields.text("name", kNameBytesMax))});
}

Result<RequestBody> read_list_adapters(Fields&, std::string_view) {
  return RequestBody(ListAdapters{});
}

struct Verb {
  const char* name;
  bool has_bytes;
  Result<RequestBody> (*read)(Fields& fields, std::string_view payload);
};
constexpr Verb kVerbs[] = {
    {"find_program", false, read_find_program},
    {"upload", true, read_upload},
    {"name_program", false, read_name_program},
    {"launch", false, read_launch},
    {"send", true, read_send},
    {"close_input", false, read_close_input},
    {"send_file", true, read_send_file},
    {"attach", false, read_attach},
    {"detach", false, read_detach},
    {"abort", false, read_abort},
    {"list", false, read_list},
    {"status", false, read_status},
    {"add_adapter", false, read_add_adapter},
    {"upload_adapter", true, read_upload_adapter},
    {"remove_adapter", false, read_remove_adapter},
    {"list_adapters", false, read_list_adapters},
};

constexpr auto kVerbNames = [] {
  std::array<const char*, std::size(kVerbs)> names{};
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = kVerbs[i].name;
  return names;
}();

Result<Request> read_request(bool is_binary, const FrameParts& parts, std::uint64_t id) {
  TRY(check_payload(parts));
  Fields head(parts.header, "request");
  const Verb& verb = kVerbs[TRY(head.choice("verb", kVerbNames))];
  if (verb.has_bytes != is_binary) {
    return Error(ErrorCode::InvalidArgument, std::string(verb.name) +
                                                 (verb.has_bytes ? " has bytes: a binary frame"
                                                                 : " has no bytes: a text frame") +
                                                 " was expected");
  }
  Fields fields(parts.header, verb.name);
  TRY(fields.text("verb", kNameBytesMax));
  TRY(fields.number("id", 1));
  Request request{id, TRY(verb.read(fields, parts.payload))};
  TRY(fields.finish());
  return request;
}

}  // namespace

std::uint64_t total_bytes(const std::vector<UploadedFile>& files) {
  std::uint64_t bytes = 0;
  for (const UploadedFile& each : files) bytes += each.bytes;  // At most four, each below 2^53.
  return bytes;
}

Result<ProgramName> parse_program(std::string_view text) {
  if (text.starts_with(kDigestPrefix)) {
    return ProgramName{TRY(parse_digest(text.substr(sizeof kDigestPrefix - 1))), {}};
  }
  TRY(check_guest_name(text, "program name"));
  return ProgramName{std::nullopt, std::string(text)};
}

Result<FilePart> read_file_part(Fields& fields, std::string_view payload) {
  FilePart part;
  part.name = TRY(fields.text("name", kNameBytesMax));
  part.media_type = TRY(fields.text("media_type", kMediaTypeBytesMax));
  part.file_bytes = TRY(fields.number("file_bytes"));
  part.offset = TRY(fields.number("offset"));
  part.bytes = payload;
  if (part.offset > part.file_bytes || part.bytes.size() > part.file_bytes - part.offset) {
    return Error(ErrorCode::InvalidArgument, "a part of " + std::to_string(part.bytes.size()) +
                                                 " bytes at " + std::to_string(part.offset) +
                                                 " of a file of " +
                                                 std::to_string(part.file_bytes));
  }
  return part;
}

Message encode(const Request& request) {
  return std::visit(Writer{request.id}, request.body);
}

DecodedRequest decode_request(bool is_binary, std::string_view bytes) {
  Result<FrameParts> parts = take_apart(is_binary, bytes);
  if (!parts.ok()) return {0, std::move(parts).take_error()};
  Fields head(parts.value().header, "request");
  Result<std::uint64_t> id = head.number("id", 1);
  if (!id.ok()) return {0, std::move(id).take_error()};
  return {id.value(), read_request(is_binary, parts.value(), id.value())};
}

}  // namespace quire::wire
