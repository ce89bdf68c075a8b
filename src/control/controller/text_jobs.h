#pragma once
// TextJobs runs tokenize, detokenize, apply_chat_template, get_vocabs, get_token_kinds,
// compile_grammar and fits: short jobs at once, long ones on a helper. Jobs with a program's own
// grammar have a helper for themselves, which gives way to the device and may be late: a second of
// it delays no chat template.
//
// A helper has a few jobs at a time; the rest wait here, and tenants take turns (JobTurns). So a
// tenant that tokenizes books in a loop delays another tenant's chat template by those few only.
// The helper of grammars has one job at a time, so a tenant that compiles in a loop delays another
// by one. A running job cannot be stopped; its outcome is dropped. A waiting job that is no longer
// wanted is never done.
//
// Thread   engine thread; the work itself on the helpers'.
#include <cstdint>
#include <unordered_map>

#include "base/server_limits.h"
#include "control/api/answer.h"
#include "control/api/command.h"
#include "control/api/helper_executor.h"
#include "control/controller/completion_inbox.h"
#include "control/controller/grammar_cache.h"
#include "control/controller/job_turns.h"
#include "control/objects/dispatcher.h"
#include "inference/api/grammar.h"
#include "inference/api/text_codec.h"

namespace quire::control {

class TextJobs {
 public:
  // Enough that the helper has work while the engine is about to bring more.
  static constexpr std::size_t kOnHelperCountMax = default_of<ServerLimit::TextJobCountMax>();
  static constexpr std::size_t kGrammarsOnHelperCountMax =
      default_of<ServerLimit::GrammarJobCountMax>();
  static_assert(kOnHelperCountMax + kGrammarsOnHelperCountMax <= CompletionInbox::kTextJobCountMax);

  // Without a helper its jobs run at once, inside start().
  TextJobs(CompletionInbox& inbox, const Helpers& helpers, Dispatcher& dispatcher)
      : inbox_(inbox),
        dispatcher_(dispatcher),
        texts_{.helper = helpers.texts, .count_max = kOnHelperCountMax},
        of_grammars_{.helper = helpers.grammars, .count_max = kGrammarsOnHelperCountMax} {}

  // The parts of a model that its jobs need. `grammars` may be null if no grammar is compiled.
  struct Model {
    const inference::TextCodec* codec = nullptr;
    inference::GrammarCompiler* grammars = nullptr;
  };
  // Starts the job of one of those commands. It counts as one of the instance's jobs until it is
  // answered, which may be at once.
  void start(Instance& instance, Command command, const Model& model);
  // Takes an outcome in and answers it.
  void finish(TextOutcome outcome);
  // The answer of this job is not wanted any more, or that of any of the instance's.
  void forget(InstanceId instance, FutureId future);
  void forget_all(InstanceId instance);

  bool idle() const { return texts_.jobs.idle() && of_grammars_.jobs.idle(); }
  PendingCommands count_of(InstanceId instance) const;
  void verify() const;

 private:
  struct Work {
    CommandBody body;
    Model model;
    TenantId tenant{};
  };
  // A helper, and what is asked of it.
  struct Lane {
    HelperExecutor* helper = nullptr;
    std::size_t count_max = 0;  // That the helper has at a time.
    JobTurns<Work> jobs = {};
  };
  static Result<AnswerBody> run(const Work& work);
  Lane& lane_of(const CommandBody& body);
  void fill(Lane& lane);

  CompletionInbox& inbox_;
  Dispatcher& dispatcher_;
  Lane texts_;
  Lane of_grammars_;
  GrammarCache grammars_;
  struct Compiling {
    TenantId tenant{};
    Digest key{};  // Of the grammar.
  };
  std::unordered_map<std::uint64_t, Compiling> compiling_;  // By job.
};

}  // namespace quire::control
