#pragma once
// A thread where the system may have none left (RLIMIT_NPROC, a container's pids.max).
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "base/result.h"

namespace quire {

// `purpose` is for the error, Unavailable: "a thread for PURPOSE cannot be started: WHY".
template <typename Body>
Result<std::thread> start_thread(const char* purpose, Body body) {
  try {
    return std::thread(std::move(body));
  } catch (const std::system_error& failure) {
    return Error(ErrorCode::Unavailable, std::string("a thread for ") + purpose +
                                             " cannot be started: " + failure.code().message());
  }
}

}  // namespace quire
