#pragma once
// UsageLedger is a file of what each tenant and key used on each day. It is opened for each batch
// of additions and for each look, and closed again, so a server may write while `quire usage`
// reads: FILE.lock keeps them apart.
//
// Thread   any, one at a time.
// Errors   Unavailable while another process has it, after kLockTimeMax; Corrupted, NotSupported,
// Io of the
//          file; NotFound when there is nothing to read.
#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "control/store/file_system.h"

namespace quire::store {

struct UsageRow {
  std::string day;  // Of UTC: "2026-11-25".
  std::uint32_t tenant = 0;
  std::string key;  // Its name; empty: of a server without keys.
  std::uint64_t request_count = 0;
  std::uint64_t launch_count = 0;
  std::uint64_t tokens_in = 0;
  std::uint64_t tokens_out = 0;
  std::uint64_t wall_ns = 0;
  bool operator==(const UsageRow&) const = default;
};

class UsageLedger {
 public:
  static constexpr std::chrono::milliseconds kLockTimeMax{5'000};

  // `files` outlives the ledger.
  UsageLedger(FileSystem& files, std::string path) : files_(files), path_(std::move(path)) {}

  // Adds to the rows of the same day, tenant and key. All of it is durable, or none is there.
  Result<void> add(std::span<const UsageRow> rows);
  // By day, tenant and key, from `first_day` on.
  Result<std::vector<UsageRow>> read(const std::string& first_day);

 private:
  FileSystem& files_;
  const std::string path_;
};

}  // namespace quire::store
