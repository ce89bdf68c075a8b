#pragma once
// UsageRecorder keeps the ledger of a server: it adds up what instances used, and writes that every few seconds.
//
// Owns     the thread that writes.
// Thread   add() on the engine thread, which waits for a map at most; writing on the recorder's own.
// Errors   A batch that cannot be written is kept and tried again with the next; `tell` reports the first such
//          error, and when it is over.
// Bound    a row for each key, tenant and day that was not written: as many as there are keys.
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>

#include "application/lifecycle/usage_sink.h"
#include "base/clock.h"
#include "base/result.h"
#include "control/store/posix_file_system.h"
#include "control/store/usage_ledger.h"
#include "main/machine/periodic_work.h"

namespace quire {

class UsageRecorder final : public lifecycle::UsageSink {
 public:
  // Io, Corrupted, ...: the file cannot be written, which is known before anything runs.
  static Result<std::unique_ptr<UsageRecorder>> open(const std::string& path,
                                                     const WallClock& clock,
                                                     std::function<void(const std::string&)> tell);
  void add(TenantId tenant, const service::Principal& caller,
           const lifecycle::UsageAmounts& amounts) override;

 private:
  using RowKey = std::tuple<std::string, TenantId, std::string>;  // Day, tenant, name of the key.
  using Rows = std::map<RowKey, lifecycle::UsageAmounts>;

  UsageRecorder(const std::string& path, const WallClock& clock,
                std::function<void(const std::string&)> tell)
      : clock_(clock), tell_(std::move(tell)), ledger_(files_, path) {}
  void write();

  const WallClock& clock_;
  const std::function<void(const std::string&)> tell_;
  store::PosixFileSystem files_;
  store::UsageLedger ledger_;
  bool has_failed_ = false;  // The thread's own.
  std::mutex mutex_;         // Of rows_.
  Rows rows_;
  std::unique_ptr<PeriodicWork> thread_;  // Writes what is left, before the rest goes.
};

// "2026-11-25", in UTC.
std::string day_of(std::uint64_t unix_ms);

}  // namespace quire
