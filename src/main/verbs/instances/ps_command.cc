#include "main/verbs/instances/ps_command.h"

#include <cstdint>
#include <string>
#include <utility>

#include "base/json.h"
#include "base/utf8.h"
#include "main/verbs/shared/kv_text.h"
#include "main/verbs/shared/output.h"
#include "main/verbs/shared/remote_times.h"
#include "main/verbs/shared/server_instances.h"
#include "wire/frame_codec.h"

namespace quire {
namespace {

using service::InstanceStatus;

std::uint64_t used(const InstanceStatus& instance, const char* name) {
  const auto found = instance.figures.find(name);
  return found == instance.figures.end() ? 0 : found->second.used;
}

// "1.5 s", "12 min", "3.2 h": as much as a reader looks for in a list.
std::string duration_text(std::uint64_t ns) {
  const double seconds = static_cast<double>(ns) * 1e-9;
  if (seconds < 120) return decimal(seconds, 1) + " s";
  if (seconds < 7200) return decimal(seconds / 60, 0) + " min";
  return decimal(seconds / 3600, 1) + " h";
}

std::string client_text(const InstanceStatus& instance) {
  if (instance.parent > 0) return "program " + std::to_string(instance.parent);
  return instance.client.empty() ? "-" : printable(instance.client);
}

std::string list_text(const service::StatusDetail& detail) {
  std::vector<std::vector<std::string>> rows = {
      {"INSTANCE", "TENANT", "PROGRAM", "STAGE", "CLIENT", "AGE", "CPU", "TOKENS", "PAGES"}};
  for (const InstanceStatus& each : detail.instances) {
    rows.push_back(
        {std::to_string(each.instance), std::to_string(each.tenant), program_label(each),
         printable(each.stage), client_text(each), duration_text(used(each, "wall_ns_max")),
         duration_text(used(each, "cpu_ns_max")), std::to_string(used(each, "token_count_max")),
         std::to_string(used(each, "page_count_max"))});
  }
  return table_text(rows, {true, true, false, false, false, true, true, true, true});
}

// The objects are those of the protocol.
Result<std::string> list_json(service::StatusDetail detail) {
  service::Status status;
  status.detail = std::move(detail);
  const wire::Message message = wire::encode(wire::ServerFrame(wire::Reply{1, std::move(status)}));
  const OrderedJson json = TRY(parse_ordered_json(message.bytes, "status"));
  std::string text;
  for (const OrderedJson& each : json["detail"]["instances"]) text += dump_json(each) + "\n";
  return text;
}

Result<int> ps(const cli::PsOptions& options) {
  service::StatusDetail detail = TRY(instances_of(options.server, kReplyTimeMax));
  const std::uint64_t left_out_count = detail.left_out_count;
  const bool is_json = options.output == cli::OutputStyle::Json;
  print(is_json ? TRY(list_json(std::move(detail))) : list_text(detail));
  if (left_out_count > 0) {
    warn(std::to_string(left_out_count) + " more instances are there, which were launched later");
  }
  return cli::number(cli::ExitCode::Ok);
}

}  // namespace

int ps_command(const cli::PsOptions& options) {
  const Result<int> code = ps(options);
  return code.ok() ? code.value() : fail(code.error());
}

}  // namespace quire
