#include "main/machine/usage_recorder.h"

#include <chrono>
#include <ctime>
#include <utility>
#include <vector>

namespace quire {
namespace {

constexpr std::chrono::seconds kWritePeriod{5};
constexpr std::uint64_t kMsPerSecond = 1'000;

}  // namespace

std::string day_of(std::uint64_t unix_ms) {
  const auto seconds = static_cast<std::time_t>(unix_ms / kMsPerSecond);
  std::tm time{};
  gmtime_r(&seconds, &time);
  char text[16];
  return std::string(text, std::strftime(text, sizeof text, "%Y-%m-%d", &time));
}

Result<std::unique_ptr<UsageRecorder>> UsageRecorder::open(
    const std::string& path, const WallClock& clock, std::function<void(const std::string&)> tell) {
  std::unique_ptr<UsageRecorder> recorder(new UsageRecorder(path, clock, std::move(tell)));
  TRY(recorder->ledger_.add({}));
  recorder->thread_ =
      TRY(PeriodicWork::start("usage", kWritePeriod, [self = recorder.get()] { self->write(); }));
  return recorder;
}

void UsageRecorder::add(TenantId tenant, const service::Principal& caller,
                        const lifecycle::UsageAmounts& amounts) {
  const std::string day = day_of(clock_.now_unix_ms());
  const std::lock_guard lock(mutex_);
  rows_[{day, tenant, caller.key_name}] += amounts;
}

void UsageRecorder::write() {
  std::unique_lock lock(mutex_);
  const Rows rows = std::exchange(rows_, {});
  lock.unlock();
  if (rows.empty()) return;
  std::vector<store::UsageRow> batch;
  for (const auto& [key, amounts] : rows) {
    const auto& [day, tenant, key_name] = key;
    batch.push_back({day, static_cast<std::uint32_t>(tenant), key_name, amounts.request_count,
                     amounts.launch_count, amounts.tokens_in, amounts.tokens_out, amounts.wall_ns});
  }
  const Result<void> written = ledger_.add(batch);
  if (written.ok()) {
    if (std::exchange(has_failed_, false)) tell_("usage is written again");
    return;
  }
  if (!std::exchange(has_failed_, true)) {
    tell_("usage cannot be written, and is kept: " + std::string(written.error().message()));
  }
  lock.lock();
  for (const auto& [key, amounts] : rows) rows_[key] += amounts;
}

}  // namespace quire
