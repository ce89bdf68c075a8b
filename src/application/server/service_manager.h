#pragma once
// ServiceManager reports the state of the server to systemd, as sd_notify(3) does, with a datagram
// to $NOTIFY_SOCKET.
//
// Owns     a socket.
// Thread   any.
// Errors   InvalidArgument for an invalid address, Io when the kernel refuses. A datagram that is
//          not taken within kNotifyTimeMax is an Io.
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "base/descriptor.h"
#include "base/result.h"

namespace quire::server {

inline constexpr std::chrono::milliseconds kNotifyTimeMax{1'000};

class ServiceManager {
 public:
  // `socket` as in $NOTIFY_SOCKET: a path, or "@NAME" of an abstract one.
  static Result<ServiceManager> open(const std::string& socket);
  // "READY=1", "STOPPING=1", "WATCHDOG=1".
  Result<void> tell(const std::string& state) const;

 private:
  ServiceManager(Descriptor descriptor, std::string address)
      : descriptor_(std::move(descriptor)), address_(std::move(address)) {}
  Descriptor descriptor_;
  std::string address_;  // As the kernel wants it: an abstract one begins with NUL.
};

// How often a watchdog wants to hear of the process, by $WATCHDOG_USEC and $WATCHDOG_PID; none: never.
std::optional<std::chrono::microseconds> watchdog_time(const char* microseconds,
                                                       const char* process,
                                                       std::int64_t own_process);

}  // namespace quire::server
