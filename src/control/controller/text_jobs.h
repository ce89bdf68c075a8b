#pragma once
// TextJobs runs tokenize, detokenize, apply_chat_template and get_vocabs: short ones at once,
// others on a helper.
//
// Owns     the jobs that wait or run. A job that runs cannot be stopped; its outcome is then
// dropped. Thread   engine thread; the work itself on the helper's. Bound    kTextJobCountMax run
// at once, the others wait in order; instances bound how many they have.
#include <cstdint>
#include <deque>
#include <functional>
#include <unordered_map>

#include "control/api/command.h"
#include "control/controller/completion_inbox.h"
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
  // A null helper: every job runs at once, inside start().
  TextJobs(CompletionInbox& inbox, HelperExecutor* helper, Dispatcher& dispatcher)
      : inbox_(inbox), helper_(helper), dispatcher_(dispatcher) {}

  // `body` is Tokenize, Detokenize, ApplyChatTemplate or GetVocabulary. True if it is already
  // answered.
  bool start(InstanceId instance, FutureId future, CommandBody body,
             const inference::TextCodec& codec);
  // Takes an outcome in and answers it. Gives the instance whose job it was.
  InstanceId finish(TextOutcome outcome);
  // Nobody wants the answer of this one, or of any of the instance's.
  void forget(InstanceId instance, FutureId future);
  void forget_all(InstanceId instance);

  bool idle() const { return jobs_.empty(); }

 private:
  struct Job {
    InstanceId instance{};
    FutureId future{};
  };
  struct Waiting {
    std::uint64_t id = 0;
    CommandBody body;
    const inference::TextCodec* codec = nullptr;
  };
  void launch(Waiting waiting);

  CompletionInbox& inbox_;
  HelperExecutor* helper_;
  Dispatcher& dispatcher_;
  std::unordered_map<std::uint64_t, Job> jobs_;
  std::deque<Waiting> waiting_;
  std::size_t running_count_ = 0;
  std::uint64_t next_ = 0;
};

}  // namespace quire::control
