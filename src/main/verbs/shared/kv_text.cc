#include "main/verbs/shared/kv_text.h"

#include <algorithm>
#include <ctime>
#include <utility>

#include "base/json.h"
#include "base/utf8.h"
#include "cli/terminal.h"

namespace quire {
namespace {

using store::OpenedSnapshot;
using store::SnapshotInfo;
using store::SnapshotRecord;

std::size_t width_of(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t at = 0; at < text.size(); ++width) {
    at += std::max<std::size_t>(1, utf8_character_bytes(text.substr(at)));
  }
  return width;
}

const char* format_name(inference::KvFormat format) {
  switch (format) {
    case inference::KvFormat::F32:
      return "f32";
    case inference::KvFormat::F16:
      return "f16";
    case inference::KvFormat::BF16:
      return "bf16";
    case inference::KvFormat::Q8:
      return "q8";
  }
  return "unknown";
}

bool has_adapter(const SnapshotRecord& record) {
  return record.space.names.adapter != Digest{};
}

}  // namespace

std::string time_text(std::uint64_t unix_ms) {
  if (unix_ms == store::kNever) return "never";
  const auto seconds = static_cast<std::time_t>(unix_ms / 1000);
  std::tm parts{};
  char text[64];
  // A year that no clock shows: damage, or a program that meant it.
  if (gmtime_r(&seconds, &parts) == nullptr ||
      std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%SZ", &parts) == 0) {
    return std::to_string(unix_ms) + " ms";
  }
  return text;
}

std::string table_text(const std::vector<std::vector<std::string>>& rows,
                       const std::vector<bool>& right) {
  std::vector<std::size_t> widths(right.size(), 0);
  for (const auto& row : rows) {
    for (std::size_t column = 0; column < row.size(); ++column) {
      widths[column] = std::max(widths[column], width_of(row[column]));
    }
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t column = 0; column < row.size(); ++column) {
      const std::string fill(widths[column] - width_of(row[column]), ' ');
      line += column == 0 ? "" : "  ";
      line += right[column] ? fill + row[column] : row[column] + fill;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string snapshots_text(const std::vector<SnapshotInfo>& snapshots, std::uint64_t tenant_bytes) {
  std::vector<std::vector<std::string>> rows = {
      {"NAME", "TOKENS", "PAGES", "SIZE", "CREATED", "EXPIRES"}};
  for (const SnapshotInfo& each : snapshots) {
    rows.push_back({printable(each.name), std::to_string(each.token_count),
                    std::to_string(each.page_count), cli::bytes_text(each.bytes),
                    time_text(each.created_unix_ms), time_text(each.expires_unix_ms)});
  }
  return table_text(rows, {false, true, true, true, false, false}) +
         std::to_string(snapshots.size()) +
         (snapshots.size() == 1 ? " snapshot, " : " snapshots, ") + cli::bytes_text(tenant_bytes) +
         " with each shared page once\n";
}

nlohmann::json snapshot_json(const SnapshotInfo& snapshot) {
  nlohmann::json json = {{"name", snapshot.name},
                         {"tokens", snapshot.token_count},
                         {"pages", snapshot.page_count},
                         {"bytes", snapshot.bytes},
                         {"created_unix_ms", snapshot.created_unix_ms},
                         {"expires_unix_ms", nullptr}};
  if (snapshot.expires_unix_ms != store::kNever) {
    json["expires_unix_ms"] = snapshot.expires_unix_ms;
  }
  return json;
}

std::string snapshot_text(const SnapshotInfo& snapshot, const OpenedSnapshot& opened) {
  const SnapshotRecord& record = opened.record;
  const control::PageNameSpace& names = record.space.names;
  std::vector<std::vector<std::string>> rows = {
      {"name", printable(snapshot.name)},
      {"tokens", std::to_string(snapshot.token_count)},
      {"queued tokens", std::to_string(record.queued_tokens.size())},
      {"pages", std::to_string(snapshot.page_count) + " of " + std::to_string(names.page_size) +
                    " tokens: " + std::to_string(record.page_count) + " committed (" +
                    std::to_string(record.dropped_pages.size()) + " of them dropped), " +
                    std::to_string(record.tail.size()) + " in the tail"},
      {"size", cli::bytes_text(snapshot.bytes)},
      {"created", time_text(snapshot.created_unix_ms)},
      {"expires", time_text(snapshot.expires_unix_ms)},
      {"model", hex(names.model)},
      {"numerics", printable(names.numerics_id)},
      {"KV format", format_name(names.kv_format)},
      {"bytes of a page", std::to_string(record.space.page_bytes)}};
  if (!opened.stated_pages.empty()) {
    rows.push_back({"states", std::to_string(opened.stated_pages.size()) + ", not in the size"});
  }
  if (!record.note.empty()) rows.push_back({"note", cli::bytes_text(record.note.size())});
  if (!names.rope.empty()) rows.push_back({"RoPE", printable(names.rope)});
  if (has_adapter(record)) rows.push_back({"adapter", hex(names.adapter)});
  return table_text(rows, {false, false});
}

nlohmann::json snapshot_json(const SnapshotInfo& snapshot, const OpenedSnapshot& opened) {
  const SnapshotRecord& record = opened.record;
  const control::PageNameSpace& names = record.space.names;
  nlohmann::json json = snapshot_json(snapshot);
  json["queued_tokens"] = record.queued_tokens.size();
  json["committed_pages"] = record.page_count;
  json["dropped_pages"] = record.dropped_pages.size();
  json["tail_pages"] = record.tail.size();
  json["note_bytes"] = record.note.size();
  json["states"] = opened.stated_pages.size();
  json["page_size"] = names.page_size;
  json["page_bytes"] = record.space.page_bytes;
  json["model_digest"] = hex(names.model);
  json["numerics"] = names.numerics_id;
  json["kv_format"] = format_name(names.kv_format);
  json["rope"] = names.rope;
  json["adapter_digest"] = nullptr;
  if (has_adapter(record)) json["adapter_digest"] = hex(names.adapter);
  return json;
}

std::string json_line(const nlohmann::json& json) {
  return dump_json(json) + "\n";
}

}  // namespace quire
