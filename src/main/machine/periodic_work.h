#pragma once
// PeriodicWork does something every few seconds on a thread of its own, and once more at its end.
//
// Owns     the thread.
// Thread   as said; built and destroyed on any other one.
// Errors   Unavailable: the system has no thread left.
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "base/result.h"

namespace quire {

class PeriodicWork {
 public:
  // `purpose` is for the error.
  static Result<std::unique_ptr<PeriodicWork>> start(const char* purpose,
                                                     std::chrono::seconds period,
                                                     std::function<void()> work);
  ~PeriodicWork();

 private:
  PeriodicWork(std::chrono::seconds period, std::function<void()> work)
      : period_(period), work_(std::move(work)) {}
  void run();

  const std::chrono::seconds period_;
  const std::function<void()> work_;
  std::mutex mutex_;  // Of is_ending_.
  std::condition_variable ending_;
  bool is_ending_ = false;
  std::thread thread_;
};

}  // namespace quire
