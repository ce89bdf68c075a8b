#include "main/verbs/serve/service_notice.h"

#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "base/blocked_signals.h"
#include "base/start_thread.h"

namespace quire {
namespace {

constexpr int kFeedsInTime = 2;  // As sd_watchdog_enabled(3) advises.

server::LogEvent warning(const Error& error) {
  return {"service_manager", server::Severity::Warning, std::string(error.message())};
}

}  // namespace

ServiceNotice::ServiceNotice(server::TellOperator tell) : tell_(std::move(tell)) {
  const char* socket = std::getenv("NOTIFY_SOCKET");
  if (socket == nullptr) return;
  Result<server::ServiceManager> opened = server::ServiceManager::open(socket);
  if (opened.ok()) {
    manager_ = std::move(opened).take();
  } else {
    tell_(warning(opened.error()));
  }
}

ServiceNotice::~ServiceNotice() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  ending_.notify_all();
  thread_.join();
}

void ServiceNotice::say(const std::string& state) const {
  if (!manager_) return;
  const Result<void> told = manager_->tell(state);
  if (!told.ok()) tell_(warning(told.error()));
}

void ServiceNotice::ready(std::function<bool()> is_live) {
  say("READY=1");
  const auto time =
      server::watchdog_time(std::getenv("WATCHDOG_USEC"), std::getenv("WATCHDOG_PID"), getpid());
  if (!manager_ || !time) return;
  const BlockedSignals blocked;
  Result<std::thread> thread = start_thread(
      "the watchdog",
      [this, time, is_live = std::move(is_live)] { feed(*time / kFeedsInTime, is_live); });
  if (thread.ok()) {
    thread_ = std::move(thread).take();
  } else {
    tell_(warning(thread.error()));
  }
}

void ServiceNotice::feed(std::chrono::microseconds period, const std::function<bool()>& is_live) {
  std::unique_lock lock(mutex_);
  do {
    lock.unlock();
    if (is_live()) say("WATCHDOG=1");
    lock.lock();
  } while (!ending_.wait_for(lock, period, [this] { return is_ending_; }));
}

}  // namespace quire
