#pragma once
// HelperThread: one thread that runs jobs in order, at most as many waiting as text jobs may run.
#include <functional>
#include <memory>
#include <thread>

#include "base/bounded_queue.h"
#include "base/result.h"
#include "control/controller/text_jobs.h"

namespace quire::control {

class HelperThread final : public HelperExecutor {
 public:
  // `purpose` is for the error, Unavailable if the system has no thread left. `niceness`: how far
  // its jobs give way to other threads (base/thread_schedule.h).
  static Result<std::unique_ptr<HelperThread>> start(const char* purpose, int niceness = 0);
  ~HelperThread() override;  // Finishes what waits.
  HelperThread(const HelperThread&) = delete;
  HelperThread& operator=(const HelperThread&) = delete;

  void run(std::function<void()> job) override;

 private:
  HelperThread();
  BoundedQueue<std::function<void()>> jobs_;
  std::thread thread_;
};

}  // namespace quire::control
