#pragma once
// ServiceNotice keeps the service manager informed of a server, if one started it and wants to hear: that the
// server takes work, that it ends, and, for a watchdog, that its engine turns.
//
// Owns     a thread, if there is a watchdog.
// Thread   ready() and stopping() from any thread. `is_live` is called on the notice's thread.
// Errors are reported to the operator; the server goes on.
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "application/server/log_event.h"
#include "application/server/service_manager.h"

namespace quire {

class ServiceNotice {
 public:
  // As the environment says: NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID.
  explicit ServiceNotice(server::TellOperator tell);
  ~ServiceNotice();
  ServiceNotice(const ServiceNotice&) = delete;
  ServiceNotice& operator=(const ServiceNotice&) = delete;

  // The watchdog is fed for as long as `is_live` says so.
  void ready(std::function<bool()> is_live);
  void stopping() const { say("STOPPING=1"); }

 private:
  void say(const std::string& state) const;
  void feed(std::chrono::microseconds period, const std::function<bool()>& is_live);

  const server::TellOperator tell_;
  std::optional<server::ServiceManager> manager_;  // None: no manager wants to hear.
  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable ending_;
  bool is_ending_ = false;  // Guarded by the mutex.
};

}  // namespace quire
