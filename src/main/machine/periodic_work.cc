#include "main/machine/periodic_work.h"

#include "base/start_thread.h"

namespace quire {

Result<std::unique_ptr<PeriodicWork>> PeriodicWork::start(const char* purpose,
                                                          std::chrono::seconds period,
                                                          std::function<void()> work) {
  std::unique_ptr<PeriodicWork> periodic(new PeriodicWork(period, std::move(work)));
  periodic->thread_ = TRY(start_thread(purpose, [self = periodic.get()] { self->run(); }));
  return periodic;
}

PeriodicWork::~PeriodicWork() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  ending_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void PeriodicWork::run() {
  bool is_last = false;
  while (!is_last) {
    {
      std::unique_lock lock(mutex_);
      is_last = ending_.wait_for(lock, period_, [this] { return is_ending_; });
    }
    work_();
  }
}

}  // namespace quire
