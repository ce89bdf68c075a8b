#include "main/verbs/models/adapter_command.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/utf8.h"
#include "cli/terminal.h"
#include "client/server_client.h"
#include "main/verbs/models/adapter_files.h"
#include "main/verbs/shared/kv_text.h"
#include "main/verbs/shared/output.h"
#include "main/verbs/shared/remote_times.h"
#include "main/verbs/shared/server_connection.h"

namespace quire {
namespace {

using service::AdapterStatus;

// The reply to the last part comes when the server has read the adapter, and those that came
// before.
constexpr std::chrono::milliseconds kLoadTimeMax{600'000};
constexpr std::size_t kToldDigits = 12;  // Of a digest.

// ---- A server.

// The reply of one kind, or the server's error.
template <typename Wanted>
Result<Wanted> ask(client::ServerClient& client, wire::RequestBody body,
                   std::chrono::milliseconds time_max = kReplyTimeMax) {
  wire::ReplyBody reply = TRY(client.ask(std::move(body), time_max));
  if (const auto* failure = std::get_if<wire::Failure>(&reply)) return error_of(*failure);
  if (auto* wanted = std::get_if<Wanted>(&reply)) return std::move(*wanted);
  return Error(ErrorCode::Unavailable, "the server answers another question");
}

nlohmann::json status_json(const AdapterStatus& adapter) {
  return {{"name", adapter.name},
          {"model", adapter.model},
          {"digest", "sha256:" + hex(adapter.digest)},
          {"rank_max", adapter.rank_max},
          {"parameter_count", adapter.parameter_count},
          {"bytes", adapter.bytes},
          {"source", adapter.source},
          {"own", adapter.is_own},
          {"in_use", adapter.is_in_use}};
}

std::string statuses_text(const std::vector<AdapterStatus>& adapters) {
  std::vector<std::vector<std::string>> rows = {
      {"NAME", "MODEL", "OF", "RANK", "NUMBERS", "MEMORY", "DIGEST", "IN USE"}};
  for (const AdapterStatus& each : adapters) {
    rows.push_back({printable(each.name), printable(each.model),
                    each.is_own ? "the tenant" : "the server", std::to_string(each.rank_max),
                    std::to_string(each.parameter_count), cli::bytes_text(each.bytes),
                    hex(each.digest).substr(0, kToldDigits), each.is_in_use ? "yes" : "-"});
  }
  return table_text(rows, {false, false, false, true, true, true, false, false});
}

Result<void> list_server(const cli::AdapterOptions& options) {
  const auto client = TRY(connect_server(options.server, options.key_file));
  const auto list = TRY(ask<wire::AdapterList>(*client, wire::ListAdapters{}));
  if (options.output == cli::OutputStyle::Json) {
    nlohmann::json json = nlohmann::json::array();
    for (const AdapterStatus& each : list.adapters) json.push_back(status_json(each));
    print(json_line(json));
  } else {
    print(statuses_text(list.adapters));
  }
  if (list.left_out_count > 0) {
    warn("the server has " + std::to_string(list.left_out_count) + " more, and lists " +
         std::to_string(list.adapters.size()));
  }
  return {};
}

using Lines = std::vector<std::pair<const char*, std::string>>;

void print_lines(const Lines& lines) {
  for (const auto& [name, value] : lines) {
    char head[32];
    std::snprintf(head, sizeof head, "%-12s", name);
    print(head + value + "\n");
  }
}

void print_status(const AdapterStatus& adapter) {
  Lines lines = {{"name", printable(adapter.name)},
                 {"model", printable(adapter.model)},
                 {"of", adapter.is_own ? "the tenant" : "the server"},
                 {"digest", "sha256:" + hex(adapter.digest)},
                 {"rank", std::to_string(adapter.rank_max)},
                 {"numbers", std::to_string(adapter.parameter_count)},
                 {"memory", cli::bytes_text(adapter.bytes)}};
  if (!adapter.source.empty()) lines.emplace_back("source", printable(adapter.source));
  lines.emplace_back("in use", adapter.is_in_use ? "yes" : "no");
  print_lines(lines);
}

Result<void> show_server(const cli::AdapterOptions& options) {
  const auto client = TRY(connect_server(options.server, options.key_file));
  const auto list = TRY(ask<wire::AdapterList>(*client, wire::ListAdapters{}));
  std::string names;
  for (const AdapterStatus& each : list.adapters) {
    if (each.name != options.path && each.model + ":" + each.name != options.path) {
      names += (names.empty() ? "" : ", ") + each.name;
      continue;
    }
    if (options.output == cli::OutputStyle::Json) {
      print(json_line(status_json(each)));
    } else {
      print_status(each);
    }
    return {};
  }
  return Error(ErrorCode::NotFound,
               in_quotes(options.path) +
                   " is neither a file here nor an adapter of the server at " + options.server +
                   (names.empty() ? ", which has none" : ", which has: " + names));
}

Result<AdapterStatus> upload(client::ServerClient& client, const cli::AdapterOptions& options) {
  const AdapterContent content = TRY(read_content(options.path));
  const std::string_view bytes = content.bytes;
  wire::UploadAdapter part{
      options.name, content.files, sha256(std::as_bytes(std::span(bytes))), 0, {}};
  const SteadyClock clock;
  cli::Progress progress(cli::Terminal::standard_error(), clock, "upload",
                         {.first_ns = kSecond / 2, .counts_bytes = true, .is_for_terminals = true});
  while (true) {
    part.bytes = bytes.substr(part.offset, wire::kPayloadBytesMax);
    const std::uint64_t end = part.offset + part.bytes.size();
    if (end == bytes.size()) {
      progress.finish();
      return TRY(ask<wire::AdapterReply>(client, std::move(part), kLoadTimeMax)).adapter;
    }
    TRY(ask<wire::Done>(client, part));
    progress.update(end, bytes.size());
    part.offset = end;
  }
}

Result<void> add(const cli::AdapterOptions& options) {
  const auto client = TRY(connect_server(options.server, options.key_file));
  const AdapterStatus added =
      options.on_server
          ? TRY(ask<wire::AdapterReply>(*client, wire::AddAdapter{options.name, options.path},
                                        kLoadTimeMax))
                .adapter
          : TRY(upload(*client, options));
  print(options.output == cli::OutputStyle::Json
            ? json_line(status_json(added))
            : "added " + printable(added.name) + " to " + printable(added.model) + " (rank " +
                  std::to_string(added.rank_max) + ", " + cli::bytes_text(added.bytes) + ")\n");
  return {};
}

Result<void> remove(const cli::AdapterOptions& options) {
  const auto client = TRY(connect_server(options.server, options.key_file));
  TRY(ask<wire::Done>(*client, wire::RemoveAdapter{options.name}));
  print(options.output == cli::OutputStyle::Json ? json_line({{"removed", options.name}})
                                                 : "removed " + printable(options.name) + "\n");
  return {};
}

// ---- Files.

nlohmann::json file_json(const std::string& path, const std::string& model,
                         const inference::Adapter& adapter) {
  return {{"path", path},
          {"model", model},
          {"digest", "sha256:" + hex(adapter.digest())},
          {"rank_max", adapter.rank_max()},
          {"parameter_count", adapter.parameter_count()},
          {"bytes", adapter.bytes()},
          {"matrices", matrices_text(adapter)}};
}

Result<void> show_file(const cli::AdapterOptions& options) {
  const LocalAdapters local = TRY(LocalAdapters::open(options.model));
  const std::shared_ptr<const inference::Adapter> adapter = TRY(local.read(options.path));
  if (options.output == cli::OutputStyle::Json) {
    print(json_line(file_json(options.path, local.model(), *adapter)));
    return {};
  }
  print_lines({{"path", printable(options.path)},
               {"model", printable(local.model())},
               {"digest", "sha256:" + hex(adapter->digest())},
               {"rank", std::to_string(adapter->rank_max())},
               {"numbers", std::to_string(adapter->parameter_count())},
               {"memory", cli::bytes_text(adapter->bytes())},
               {"matrices", matrices_text(*adapter)}});
  return {};
}

// A file that is not an adapter of the model has a line that says why.
Result<void> list_folder(const cli::AdapterOptions& options) {
  const LocalAdapters local = TRY(LocalAdapters::open(options.model));
  std::vector<std::vector<std::string>> rows = {
      {"NAME", "RANK", "NUMBERS", "MEMORY", "DIGEST", "MATRICES"}};
  nlohmann::json json = nlohmann::json::array();
  for (const std::string& name : TRY(adapters_in(options.path))) {
    const std::string path = (std::filesystem::path(options.path) / name).string();
    const Result<std::shared_ptr<const inference::Adapter>> read = local.read(path);
    if (!read.ok()) {
      json.push_back({{"path", path}, {"error", std::string(read.error().message())}});
      rows.push_back({printable(name), "-", "-", "-", "-", std::string(read.error().message())});
      continue;
    }
    const inference::Adapter& adapter = *read.value();
    json.push_back(file_json(path, local.model(), adapter));
    rows.push_back({printable(name), std::to_string(adapter.rank_max()),
                    std::to_string(adapter.parameter_count()), cli::bytes_text(adapter.bytes()),
                    hex(adapter.digest()).substr(0, kToldDigits), matrices_text(adapter)});
  }
  print(options.output == cli::OutputStyle::Json
            ? json_line(json)
            : table_text(rows, {false, true, true, true, false, false}));
  return {};
}

Result<void> act(const cli::AdapterOptions& options) {
  std::error_code ignored;
  switch (options.action) {
    case cli::AdapterAction::List:
      return options.path.empty() ? list_server(options) : list_folder(options);
    case cli::AdapterAction::Show:
      return !options.has_server && std::filesystem::exists(options.path, ignored)
                 ? show_file(options)
                 : show_server(options);
    case cli::AdapterAction::Add:
      return add(options);
    case cli::AdapterAction::Remove:
      return remove(options);
  }
  return {};
}

}  // namespace

int adapter_command(const cli::AdapterOptions& options) {
  const Result<void> done = act(options);
  return done.ok() ? cli::number(cli::ExitCode::Ok) : fail(done.error());
}

}  // namespace quire
