#pragma once
// EpochTicker counts milliseconds while a guest runs, so that a guest that does not return can be
// cut. It sleeps while none runs.
//
// Owns     the ticker thread.
// Thread   ticks() from any thread; begin() and end() on the engine thread.
// Errors   Unavailable if the system has no thread left.
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "base/result.h"

namespace quire::sandbox {

class EpochTicker {
 public:
  // `on_tick` is called from the ticker's thread; it must not block.
  static Result<std::unique_ptr<EpochTicker>> start(std::function<void()> on_tick);
  ~EpochTicker();
  EpochTicker(const EpochTicker&) = delete;
  EpochTicker& operator=(const EpochTicker&) = delete;

  std::uint64_t ticks() const { return ticks_.load(std::memory_order_relaxed); }
  void begin();  // A guest starts to run.
  void end();

 private:
  explicit EpochTicker(std::function<void()> on_tick) : on_tick_(std::move(on_tick)) {}
  void run();

  const std::function<void()> on_tick_;
  std::atomic<std::uint64_t> ticks_{0};
  std::atomic<bool> running_{false};   // A guest runs.
  std::atomic<bool> sleeping_{false};  // The thread waits for begin().
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace quire::sandbox
