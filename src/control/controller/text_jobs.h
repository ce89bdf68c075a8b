#pragma once
// TextJobs runs tokenize, detokenize, apply_chat_template, get_vocabs, get_token_kinds,
// compile_grammar and fits: short ones at once, others on a helper.
//
// The helper has a few jobs at a time; the others wait here and tenants take turns (JobTurns), so
// that whoever tokenises books in a loop delays no other tenant's chat template by more than those
// few. A job that runs cannot be stopped; its outcome is then dropped. One that still waits when
// nobody wants it any more is never done.
//
// Thread   engine thread; the work itself on the helper's.
#include <cstdint>
#include <unordered_map>

#include "control/api/command.h"
#include "control/api/helper_executor.h"
#include "control/controller/completion_inbox.h"
#include "control/controller/grammar_cache.h"
#include "control/controller/job_turns.h"
#include "control/dispatcher/dispatcher.h"
#include "inference/api/grammar.h"
#include "inference/api/text_codec.h"

namespace quire::control {

class TextJobs {
 public:
  // Enough that the helper has work while the engine is about to bring more.
  static constexpr std::size_t kOnHelperCountMax = 4;
  static_assert(kOnHelperCountMax <= CompletionInbox::kTextJobCountMax);

  // A null helper: every job runs at once, inside start().
  TextJobs(CompletionInbox& inbox, HelperExecutor* helper, Dispatcher& dispatcher)
      : inbox_(inbox), helper_(helper), dispatcher_(dispatcher) {}

  // Of a model: what its jobs need. `grammars` may be null, where no grammar is compiled.
  struct Model {
    const inference::TextCodec* codec = nullptr;
    inference::GrammarCompiler* grammars = nullptr;
  };
  // Its body is one of those commands. Counts as one of the instance's jobs until it is answered,
  // which may be at once.
  void start(Instance& instance, Command command, const Model& model);
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
    Model model;
    TenantId tenant{};
  };
  static Result<AnswerBody> run(const Work& work);
  void fill();

  CompletionInbox& inbox_;
  HelperExecutor* helper_;
  Dispatcher& dispatcher_;
  JobTurns<Work> jobs_;
  GrammarCache grammars_;
  std::unordered_map<std::uint64_t, Digest> compiling_;  // By job: the grammar's key.
};

}  // namespace quire::control
