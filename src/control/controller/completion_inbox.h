#pragma once
// CompletionInbox is where other threads leave what they finished for the engine thread.
//
// It is made first: backends are built with it as their CompletionSink, then the controller takes
// it over. The sender of work reserves the slots, so that a push never fails or blocks.
//
// Thread   complete() and deliver() from any; take_*() from the engine thread.
#include <atomic>
#include <cstdint>
#include <optional>

#include "base/bounded_queue.h"
#include "base/wakeup.h"
#include "control/api/answer.h"
#include "control/api/command.h"
#include "control/steps/matcher_jobs.h"
#include "control/store/disk_thread.h"
#include "inference/api/backend.h"

namespace quire::control {

// The outcome of a text job on a helper thread.
struct TextOutcome {
  std::uint64_t job = 0;
  bool is_of_grammar = false;  // Those have numbers of their own.
  Result<AnswerBody> answer;
};

class CompletionInbox final : public inference::CompletionSink,
                              public store::DiskAnswerSink,
                              public MatcherJobSink {
 public:
  static constexpr std::size_t kBatchCountMax = 64;     // Under way, over all models.
  static constexpr std::size_t kTextJobCountMax = 256;  // Under way; more wait with the controller.

  static constexpr std::uint32_t kDiskAnswerCountMax = store::kDiskJobCountMax;

  explicit CompletionInbox(Wakeup& wakeup)
      : wakeup_(wakeup),
        batches_(kBatchCountMax),
        texts_(kTextJobCountMax),
        matcher_jobs_(MatcherJobs::kRunningCountMax),
        disk_(kDiskAnswerCountMax) {}

  void complete(inference::Completion completion) override;
  void deliver(TextOutcome outcome);
  bool try_reserve() override;
  void cancel_reservation() override;
  void deliver(store::DiskAnswer answer) override;
  void matcher_job_done(std::uint64_t job) override;

  std::optional<inference::Completion> take_completion() { return batches_.try_pop(); }
  std::optional<TextOutcome> take_text() { return texts_.try_pop(); }
  std::optional<std::uint64_t> take_matcher_job() { return matcher_jobs_.try_pop(); }
  std::optional<store::DiskAnswer> take_disk();

 private:
  Wakeup& wakeup_;
  BoundedQueue<inference::Completion> batches_;
  BoundedQueue<TextOutcome> texts_;
  BoundedQueue<std::uint64_t> matcher_jobs_;
  BoundedQueue<store::DiskAnswer> disk_;
  std::atomic<std::uint32_t> disk_reserved_count_{0};  // Answers to come, and those not taken yet.
};

}  // namespace quire::control
