#include "control/controller/completion_inbox.h"

#include <utility>

#include "base/check.h"

namespace quire::control {

void CompletionInbox::complete(inference::Completion completion) {
  QUIRE_CHECK(batches_.try_push(std::move(completion)), "a completion without a reserved slot");
  wakeup_.notify();
}

void CompletionInbox::deliver(TextOutcome outcome) {
  QUIRE_CHECK(texts_.try_push(std::move(outcome)), "a text job without a reserved slot");
  wakeup_.notify();
}

void CompletionInbox::matcher_job_done(std::uint64_t job) {
  QUIRE_CHECK(matcher_jobs_.try_push(std::uint64_t{job}),
              "a matcher's job without a reserved slot");
  wakeup_.notify();
}

bool CompletionInbox::try_reserve() {
  std::uint32_t count = disk_reserved_count_.load(std::memory_order_relaxed);
  while (count < kDiskAnswerCountMax) {
    if (disk_reserved_count_.compare_exchange_weak(count, count + 1)) return true;
  }
  return false;
}

void CompletionInbox::cancel_reservation() {
  --disk_reserved_count_;
}

void CompletionInbox::deliver(store::DiskAnswer answer) {
  QUIRE_CHECK(disk_.try_push(std::move(answer)), "an answer of the disk without a reserved slot");
  wakeup_.notify();
}

std::optional<store::DiskAnswer> CompletionInbox::take_disk() {
  std::optional<store::DiskAnswer> answer = disk_.try_pop();
  if (answer) --disk_reserved_count_;
  return answer;
}

}  // namespace quire::control
