#include "control/controller/helper_thread.h"

#include <utility>

#include "base/check.h"
#include "base/thread_schedule.h"

namespace quire::control {

HelperThread::HelperThread(int niceness) : jobs_(CompletionInbox::kTextJobCountMax) {
  thread_ = std::thread([this, niceness] {
    add_niceness(niceness);
    while (std::optional<std::function<void()>> job = jobs_.pop()) (*job)();
  });
}

HelperThread::~HelperThread() {
  jobs_.close();
  thread_.join();
}

void HelperThread::run(std::function<void()> job) {
  QUIRE_CHECK(jobs_.try_push(std::move(job)), "a job without a reserved slot");
}

}  // namespace quire::control
