#pragma once
// TextJobs runs tokenize, detokenize, apply_chat_template and get_vocabs: short ones at once,
// others on a helper.
//
// The helper has a few jobs at a time; the others wait here and tenants take turns (JobTurns), so
// that whoever tokenises books in a loop delays no other tenant's chat template by more than those
// few. A job that runs cannot be stopped; its outcome is then dropped. One that still waits when
// nobody wants it any more is never done.
//
// Thread   engine thread; the work itself on the helper's.
#include <cstdint>
#include <functional>

#include "control/api/command.h"
#include "control/controller/completion_inbox.h"
#include "control/controller/job_turns.h"
#include "control/dispatcher/dispatcher.h"
#include "inference/api/text_codec.h"

namespace quire::control {

// A thread for work that takes long. run() never blocks; jobs run in order.
class HelperExecutor {
 public:
  virtual ~HelperExecutor() = default;
  virtual void run(std::function<void()> job) = 0;
};

class TextJobs {
 public:
  // Enough that the helper has work while the engine is about to bring more.
  static constexpr std::size_t kOnHelperCountMax = 4;
  static_assert(kOnHelperCountMax <= CompletionInbox::kTextJobCountMax);

  // A null helper: every job runs at once, inside start().
  TextJobs(CompletionInbox& inbox, HelperExecutor* helper, Dispatcher& dispatcher)
      : inbox_(inbox), helper_(helper), dispatcher_(dispatcher) {}

  // Its body is Tokenize, Detokenize, ApplyChatTemplate or GetVocabulary. Counts as one of the
  // instance's jobs until it is answered, which may be at once.
  void start(Instance& instance, Command command, const inference::TextCodec& codec);
  // Takes an outcome in and answers it.
  void finish(TextOutcome outcome);
  // Nobody wants the answer of this one, or of any of the instance's.
  void forget(InstanceId instance, FutureId future);
  void forget_all(InstanceId instance);

  bool idle() const { return jobs_.idle(); }
  PendingCommands count_of(InstanceId instance) const { return jobs_.count_of(instance); }
  void verify() const { jobs_.verify(); }

 private:
  struct Work {
    CommandBody body;
    const inference::TextCodec* codec = nullptr;
  };
  void fill();

  CompletionInbox& inbox_;
  HelperExecutor* helper_;
  Dispatcher& dispatcher_;
  JobTurns<Work> jobs_;
};

}  // namespace quire::control
