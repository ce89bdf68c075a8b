#include "control/controller/helper_thread.h"

#include <utility>

#include "base/check.h"
#include "base/start_thread.h"
#include "base/thread_schedule.h"

namespace quire::control {

HelperThread::HelperThread() : jobs_(CompletionInbox::kTextJobCountMax) {}

Result<std::unique_ptr<HelperThread>> HelperThread::start(const char* purpose, int niceness) {
  std::unique_ptr<HelperThread> helper(new HelperThread());
  helper->thread_ = TRY(start_thread(purpose, [self = helper.get(), niceness] {
    add_niceness(niceness);
    while (std::optional<std::function<void()>> job = self->jobs_.pop()) (*job)();
  }));
  return helper;
}

HelperThread::~HelperThread() {
  jobs_.close();
  if (thread_.joinable()) thread_.join();
}

void HelperThread::run(std::function<void()> job) {
  QUIRE_CHECK(jobs_.try_push(std::move(job)), "a job without a reserved slot");
}

}  // namespace quire::control
