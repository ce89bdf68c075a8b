#pragma once
// Snapshots as lines for people and as JSON for programs. Pure functions; any thread.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "control/store/records.h"

namespace quire {

// "2026-11-21 20:05:11Z"; "never" for store::kNever.
std::string time_text(std::uint64_t unix_ms);

// Columns as wide as their widest entry; those of `right` aligned to the right.
std::string table_text(const std::vector<std::vector<std::string>>& rows,
                       const std::vector<bool>& right);

std::string snapshots_text(const std::vector<store::SnapshotInfo>& snapshots,
                           std::uint64_t tenant_bytes);
nlohmann::json snapshot_json(const store::SnapshotInfo& snapshot);
std::string snapshot_text(const store::SnapshotInfo& snapshot, const store::OpenedSnapshot& opened);
nlohmann::json snapshot_json(const store::SnapshotInfo& snapshot,
                             const store::OpenedSnapshot& opened);

// One line. Bytes that are not UTF-8 (of a damaged index) are replaced.
std::string json_line(const nlohmann::json& json);

}  // namespace quire
