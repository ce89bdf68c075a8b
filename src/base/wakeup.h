#pragma once
// Wakeup lets the engine thread sleep until any other thread has something for it.
//
// Thread   notify() from any thread, and it never blocks for long; wait_for() from one.
#include <chrono>
#include <condition_variable>
#include <mutex>

namespace quire {

class Wakeup {
 public:
  void notify() {
    {
      std::lock_guard lock(mutex_);
      pending_ = true;
    }
    changed_.notify_one();
  }

  // Returns at once if notify() was called since the last return; forgets it either way.
  void wait_for(std::chrono::nanoseconds timeout) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, timeout, [this] { return pending_; });
    pending_ = false;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool pending_ = false;
};

}  // namespace quire
