#include "main/verbs/serve/status_command.h"

#include <unistd.h>

#include <chrono>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/utf8.h"
#include "cli/terminal.h"
#include "cli/word_wrap.h"
#include "client/server_client.h"
#include "main/verbs/shared/kv_text.h"
#include "main/verbs/shared/output.h"
#include "main/verbs/shared/remote_times.h"
#include "main/verbs/shared/server_connection.h"
#include "main/verbs/shared/server_instances.h"
#include "wire/frame_codec.h"

namespace quire {
namespace {

constexpr std::uint32_t kIndent = 2;  // Of the further lines of one that a terminal breaks.

using Rows = std::vector<std::vector<std::string>>;

std::string value_text(std::string_view name, std::uint64_t value) {
  if (name.find("_ns") != std::string_view::npos) {
    return decimal(static_cast<double>(value) * 1e-9, 2) + " s";
  }
  if (name.find("bytes") != std::string_view::npos) return cli::bytes_text(value);
  return std::to_string(value);
}

// "3 of 64"; a figure that the server did not report is 0.
std::string figure_text(const wire::Figures& figures, const char* name) {
  const auto found = figures.find(name);
  if (found == figures.end()) return value_text(name, 0);
  const std::string used = value_text(name, found->second.used);
  if (!found->second.maximum) return used;
  return used + " of " + value_text(name, *found->second.maximum);
}

// The part of its limit that an instance uses, without the limit, which most instances share.
std::string used_text(const wire::Figures& figures, const char* name) {
  const auto found = figures.find(name);
  return value_text(name, found == figures.end() ? 0 : found->second.used);
}

std::string tenants_text(const std::vector<wire::TenantStatus>& tenants) {
  Rows rows = {{"TENANT", "WEIGHT", "INSTANCES", "RESERVED", "MEMORY", "PAGES", "HTTP", "CPU",
                "TOKENS", "OUTPUT", "ADAPTERS", "LAUNCHED", "REFUSED"}};
  for (const wire::TenantStatus& each : tenants) {
    const auto figure = [&](const char* name) { return figure_text(each.figures, name); };
    rows.push_back({std::to_string(each.tenant), std::to_string(each.weight),
                    figure("instance_count_max"), figure("memory_bytes_max"),
                    figure("memory_bytes"), figure("page_count_max"),
                    figure("http.exchange_count_max"), figure("cpu_ns"), figure("token_count"),
                    figure("output_bytes"), figure("adapter_count_max"), figure("launched_count"),
                    figure("refused_count")});
  }
  return table_text(rows, std::vector<bool>(rows.front().size(), true));
}

// A paragraph, which hangs under its label on a terminal.
std::string programs_text(const wire::StatusDetail& detail) {
  if (detail.programs.empty()) return "";
  const std::size_t count = detail.programs.size() + detail.left_out_program_count;
  std::string names;
  for (const wire::NamedProgram& each : detail.programs) {
    names += (names.empty() ? "" : ", ") + printable(each.name);
  }
  if (detail.left_out_program_count > 0) {
    names += ", and " + std::to_string(detail.left_out_program_count) + " more";
  }
  return "\n" + std::to_string(count) + (count == 1 ? " program:\n  " : " programs:\n  ") +
         cli::wrapped(names, {.width = cli::terminal_columns(STDOUT_FILENO),
                              .indent = kIndent,
                              .column = kIndent}) +
         "\n";
}

std::string instances_text(const wire::StatusDetail& detail) {
  Rows rows = {{"INSTANCE", "TENANT", "PARENT", "STAGE", "PROGRAM", "MEMORY", "PAGES", "CPU",
                "WALL", "TOKENS", "OUTPUT"}};
  for (const wire::InstanceStatus& each : detail.instances) {
    const auto used = [&](const char* name) { return used_text(each.figures, name); };
    rows.push_back({std::to_string(each.instance), std::to_string(each.tenant),
                    each.parent == 0 ? "-" : std::to_string(each.parent), printable(each.stage),
                    program_label(each), used("memory_bytes_max"), used("page_count_max"),
                    used("cpu_ns_max"), used("wall_ns_max"), used("token_count_max"),
                    used("output_bytes_max")});
  }
  std::string text =
      table_text(rows, {true, true, true, false, false, true, true, true, true, true, true});
  if (detail.left_out_count > 0) {
    text += "and " + std::to_string(detail.left_out_count) + " more\n";
  }
  return text;
}

std::string status_text(const wire::StatusReply& status, const wire::StatusDetail& detail) {
  const auto count = [&](const char* name) { return used_text(detail.figures, name); };
  std::string models;
  for (const std::string& each : status.models) {
    models += (models.empty() ? "" : ", ") + printable(each);
  }
  std::string text = "quire " + printable(status.version) + " serves " + models + ", up " +
                     decimal(static_cast<double>(status.uptime_ms) * 1e-3, 1) + " s\n";
  // A key that may not operate hears of its own tenant alone.
  if (status.instance_count_max == 0) {
    return text + "only keys that may operate see what the server does as a whole\n\n" +
           tenants_text(detail.tenants) +
           (detail.instances.empty() ? "" : "\n" + instances_text(detail)) + programs_text(detail);
  }
  text += "instances: " + std::to_string(status.instance_count) + " of " +
          std::to_string(status.instance_count_max) + " (" + count("queued_count") + " queued, " +
          count("ready_count") + " ready, " + count("background_count") + " in the background, " +
          count("parked_count") + " parked, " + count("ended_count") + " ended); " +
          std::to_string(status.connection_count) +
          " connections; launches: " + std::to_string(status.launched_count) + ", refused " +
          std::to_string(status.refused_count) + "\n";
  if (count("request_count") != "0" || count("request_refused_count") != "0") {
    text += "requests to endpoints: " + count("request_count") + ", " +
            count("request_open_count") + " open, refused " + count("request_refused_count") +
            ", left by their clients " + count("request_abandoned_count") + "\n";
  }
  text += "memory of programs: " + figure_text(detail.figures, "program_memory_bytes_max") + "\n";
  if (detail.figures.contains("snapshot_bytes_total_max")) {
    text += "snapshots: " + figure_text(detail.figures, "snapshot_bytes_total_max") +
            "; the disk has " + count("disk_free_bytes") + " free, of which " +
            count("disk_reserve_bytes") + " are not for snapshots\n";
  }
  text += "pages: " + std::to_string(status.page_count - status.page_count_free) + " of " +
          std::to_string(status.page_count) + " held, " + count("cold_page_count") +
          " kept; suspensions: " + count("suspension_count") + ", tokens computed again " +
          count("lost_token_count") + "\n";
  if (count("adapter_count") != "0" || count("adapter_refused_count") != "0") {
    text += "adapters: " + count("adapter_count") + " with " + count("adapter_bytes") + "; added " +
            count("adapter_loaded_count") + ", refused " + count("adapter_refused_count") +
            ", removed " + count("adapter_removed_count") + "\n";
  }
  text += "batches: " + count("batch_count") + " with " + count("row_count") + " tokens, found " +
          std::to_string(status.found_token_count) + "; device " + count("device_ns") +
          ", scheduler " + count("scheduler_ns") + "\n";
  text = cli::wrapped(text, {.width = cli::terminal_columns(STDOUT_FILENO), .indent = kIndent});
  if (!detail.tenants.empty()) text += "\n" + tenants_text(detail.tenants);
  if (!detail.instances.empty()) text += "\n" + instances_text(detail);
  return text + programs_text(detail);
}

// As it is on the wire, without the envelope.
Result<std::string> status_json(wire::StatusReply status) {
  const wire::Message message = wire::encode(wire::ServerFrame(wire::Reply{1, std::move(status)}));
  OrderedJson json = TRY(parse_ordered_json(message.bytes, "status"));
  json.erase("reply");
  json.erase("id");
  return dump_json(json) + "\n";
}

Result<int> status(const cli::StatusOptions& options) {
  const auto client = TRY(connect_server(options.server, options.key_file));
  wire::ReplyBody reply = TRY(client->ask(wire::Status{true}, kReplyTimeMax));
  if (const auto* failure = std::get_if<wire::Failure>(&reply)) return error_of(*failure);
  auto* told = std::get_if<wire::StatusReply>(&reply);
  if (told == nullptr || !told->detail) {
    return Error(ErrorCode::Unavailable,
                 "the server at " + options.server + " reports nothing about its tenants");
  }
  const bool is_json = options.output == cli::OutputStyle::Json;
  print(is_json ? TRY(status_json(std::move(*told))) : status_text(*told, *told->detail));
  return cli::number(cli::ExitCode::Ok);
}

}  // namespace

int status_command(const cli::StatusOptions& options) {
  const Result<int> code = status(options);
  return code.ok() ? code.value() : fail(code.error());
}

}  // namespace quire
